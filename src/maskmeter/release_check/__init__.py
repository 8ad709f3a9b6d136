"""Release check: what order, kept columns and households give away of the values that were changed."""

from maskmeter.release_check.check import ReleaseCheck, check_release
from maskmeter.release_check.finding import ReleaseFinding

__all__ = ["ReleaseCheck", "ReleaseFinding", "check_release"]
