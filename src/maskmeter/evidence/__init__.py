"""Evidence for a release decision: an assessment, its reports and the pack that holds them."""

from maskmeter.evidence.assessment import Assessment, assess
from maskmeter.evidence.auditing import Audit, audit
from maskmeter.evidence.pack import Pack, report

__all__ = ["Assessment", "Audit", "Pack", "assess", "audit", "report"]
