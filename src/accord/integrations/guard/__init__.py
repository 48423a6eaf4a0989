"""The guard: a contract, a session, a place where it lives; no tool runs that the contract does not allow now.

`state` is what a guard knows, `worlds` what may become of it while calls are out, `reserving` and `reviewing` decide,
`homes` keep, `session` takes every step, `running` runs tools, `Guard` is what a program uses.
"""

from __future__ import annotations

from accord.integrations.guard.decisions import Decision
from accord.integrations.guard.guard import Guard
from accord.integrations.guard.reacting import LET_RUN
from accord.integrations.guard.state import Review

__all__ = ["LET_RUN", "Decision", "Guard", "Review"]
