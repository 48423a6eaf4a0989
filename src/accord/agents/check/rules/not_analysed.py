"""W088: what was not analysed, and is therefore not known to be right."""

from __future__ import annotations

from accord.agents.check.missteps import Misstep, listed
from accord.diagnostics.agent_codes import NOT_ANALYSED

__all__ = ["misspelt", "not_analysed", "uncalled", "unknown_classes"]

_HELP = "write it so that it can be followed, or accept it: `# accord: ignore[W088] reason`"


def not_analysed(why: str) -> Misstep:
    """Something out of sight."""
    return Misstep(NOT_ANALYSED, f"not analysed: {why}", _HELP, "not seen")


def misspelt(agent: str, name: str, meant: str) -> Misstep:
    """A verb that is written wrongly."""
    return Misstep(NOT_ANALYSED, f"not analysed: `{agent}` has no `{name}`", f"did you mean `{meant}`?", "not seen")


def uncalled(method: str) -> Misstep:
    """A method that speaks, and that no handler calls."""
    why = f"`{method}` sends or receives, and neither a handler nor `on_start` calls it"
    return Misstep(
        NOT_ANALYSED, f"not analysed: {why}", "an agent sends and receives in its handlers", "called by whom?"
    )


def unknown_classes(labels: list[str]) -> Misstep:
    """Message classes of which only the names are known."""
    which = listed(labels, "and")
    why = f"{which}: {'its class is' if len(labels) == 1 else 'their classes are'} not in the files that are checked"
    return Misstep(NOT_ANALYSED, f"not analysed: {why}", "check the files that declare them together with this one")
