"""Evidence for a release decision: an assessment, its reports and the pack that holds them."""

from maskmeter.evidence.assessment import Assessment, assess
from maskmeter.evidence.pack import Pack, report

__all__ = ["Assessment", "Pack", "assess", "report"]
