"""Sessions: the pure `step`, the `Monitor` around it, verdicts and snapshots."""

from __future__ import annotations

from accord.monitor.monitor import Monitor
from accord.monitor.verdicts import UNRECOGNIZED, Blocked, Ok, Unrecognized, Verdict, Violation

__all__ = ["UNRECOGNIZED", "Blocked", "Monitor", "Ok", "Unrecognized", "Verdict", "Violation"]
