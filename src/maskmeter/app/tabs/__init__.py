"""The tabs of the page, in the order of the way through it."""

from maskmeter.app.tabs.check import CHECK
from maskmeter.app.tabs.decide import DECIDE
from maskmeter.app.tabs.file import FILE
from maskmeter.app.tabs.keys import KEYS
from maskmeter.app.tabs.risk import RISK
from maskmeter.app.tabs.sample import SAMPLE
from maskmeter.app.tabs.tab import Tab
from maskmeter.app.tabs.trying import PROTECT

TABS: tuple[Tab, ...] = (FILE, KEYS, SAMPLE, RISK, PROTECT, CHECK, DECIDE)

__all__ = ["TABS", "Tab"]
