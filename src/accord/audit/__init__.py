"""Many recorded runs against a contract: plan, work, merge, report."""

from __future__ import annotations

from accord.audit.auditing import Audit, audit
from accord.audit.model import Breach, Refused, Status, Verdict
from accord.audit.report import Report, make_report, summary_of
from accord.audit.tally import Tally

__all__ = ["Audit", "Breach", "Refused", "Report", "Status", "Tally", "Verdict", "audit", "make_report", "summary_of"]
