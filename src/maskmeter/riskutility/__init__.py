"""Risk against information loss: maps of releases, and the search for one that will do."""

from maskmeter.riskutility.choice import FoundRelease
from maskmeter.riskutility.comparison import compare
from maskmeter.riskutility.family import Family
from maskmeter.riskutility.finding import find_release
from maskmeter.riskutility.riskmap import RiskUtilityMap

__all__ = ["Family", "FoundRelease", "RiskUtilityMap", "compare", "find_release"]
