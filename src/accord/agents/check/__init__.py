"""Whether the code of agents follows their protocols, found out without running it.

Texts become modules (`modules`, `names`), classes that follow protocols (`declarations`, `following`), and graphs
(`graph`, `building`); a walk through every way and every state (`walking`, `studying`) asks the role's own machine at
each message (`scripts`, `conversing`). Where an agent gets out of sight is found beside it (`escapes`, `bodies`,
`patching`). What is wrong is said by `rules`, one file each.
"""

from __future__ import annotations

from accord.agents.check.linting import Files, Report, lint, read

__all__ = ["Files", "Report", "lint", "read"]
