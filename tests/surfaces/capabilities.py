"""What the language and each surface can do so far: the one table that is changed when a part has landed.

A *feature* is something that a pair of contract and run uses. A surface is asked only about pairs whose features it
has; the generator makes only what some surface can be asked about. When all of it is built, every line is `EVERYTHING`
but for what a surface cannot have by its nature, and `LACKS` says why.
"""

from __future__ import annotations

from accord.language import examine
from accord.diagnostics import Source

__all__ = ["BY_NATURE", "EVERYTHING", "FEATURES", "MISSING", "can", "failure_lines", "is_open", "keeps_names", "speaks"]

FEATURES = {
    # the language
    "open": "`protocol P open = …`",
    "tools": "`tools { … fails … }`",
    "named otherwise": "`as named otherwise`",
    "events": "an events block",
    "gates": "steps of people",
    "slices": "`each k:` before a protocol or a rule",
    "time": "deadlines",
    # what happens
    "text": "what the user and the agent say",
    "program events": "events that the program reports",
    "approvals": "events that the program reports of a named person",
    "several out": "several calls that are out at once",
    "waiting": "calls that are held until others have ended",
    "late": "results in another order than their calls",
    "overlap": "a message that begins while calls of an earlier one are out",
    "unended": "calls that never end",
    "strangers": "calls of tools that the contract does not name",
    "retries": "the same id and arguments again after an error",
    "long": "sixty happenings and more",
    # what it means
    "fails undone": "a failed call that is taken back",
    "fails done": "a failed call that has happened",
    "fails unknown": "a failed call that may have happened",
    "odd values": "results that are no objects, or have fields of their own called `error`, `call` or `call_id`",
    "fields of ends": "guards on `error`, `call` and `call_id`",
    "results for rules": "results that no protocol names and a rule does",
    "strangers in slices": "a call that a sliced protocol does not name",
    "keys of calls": "a result that says it is of another slice than its call, or of none",
    "refused and ended": "the end of a call that was refused",
}
"""Each with what it is."""
EVERYTHING = frozenset(FEATURES)

MISSING: dict[str, frozenset[str]] = {
    # Not built yet: what is turned on as parts land. `*` is for all surfaces.
    "*": frozenset(),
}
"""What is not built yet, by surface."""

BY_NATURE: dict[str, dict[str, str]] = {}
"""What a surface cannot have, with the reason."""


def can(surface: str) -> frozenset[str]:
    """The features of a surface now."""
    lacking = MISSING["*"] | MISSING.get(surface, frozenset()) | set(BY_NATURE.get(surface, ()))
    return EVERYTHING - lacking


# -- the tree where it is new ------------------------------------------------------------------------------------------


def is_open(declaration) -> bool:
    """Whether a protocol lets pass what it does not name."""
    return bool(getattr(declaration, "is_open", False))


def keeps_names(events) -> bool:
    """Whether what no line takes keeps its own name."""
    return bool(getattr(events, "named_otherwise", False))


def failure_lines(document) -> list[tuple[tuple[str, ...], str]]:
    """What a contract says of failing tools: names, none for all others, and the meaning."""
    block = getattr(document, "tools", None)
    return [(tuple(line.names), line.failure) for line in getattr(block, "lines", ())]


def speaks(text: str) -> bool:
    """Whether the language has what a text uses."""
    _, findings = examine(Source(text, "<contract>"))
    return not any(finding.severity == "error" for finding in findings)
