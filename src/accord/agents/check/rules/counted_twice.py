"""W092: a handler that counts twice what is delivered twice."""

from __future__ import annotations

from accord.agents.check.missteps import Misstep, labelled
from accord.diagnostics.agent_codes import COUNTED_TWICE

__all__ = ["counted_twice"]


def counted_twice(method: str, field: str, labels: list[str]) -> Misstep:
    """A persistent field is changed by what it was before, and the message comes again if the agent crashes now."""
    message = (
        f"`{method}` changes `{field}` by what it was, before anything is sent: if it crashes here, "
        f"{labelled(labels)} is delivered again and counted twice"
    )
    help_ = "change it after the answer, or keep which messages were handled and look there first"
    return Misstep(COUNTED_TWICE, message, help_, "once more for each delivery")
