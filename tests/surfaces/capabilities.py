"""What the language and each surface can do so far: the one table that is changed when a part has landed.

A *feature* is something that a pair of contract and run uses. A surface is asked only about pairs whose features it
has; the generator makes only what some surface can be asked about. When all of it is built, every line is `EVERYTHING`
but for what a surface cannot have by its nature, and `LACKS` says why.
"""

from __future__ import annotations

from accord.diagnostics import Source
from accord.language import examine

__all__ = [
    "BY_NATURE",
    "EVERYTHING",
    "FEATURES",
    "MISSING",
    "can",
    "failure_lines",
    "is_open",
    "keeps_names",
    "speaks",
]

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
    "answers": "a person is asked about a call, and allows it, with other arguments or not, or denies it",
    "several out": "several calls that are out at once",
    "waiting": "calls that are held until others have ended",
    "foreseen": "what a call that is out may return decides about another one",
    "several reasons": "several clauses refuse something, each in other states that are possible",
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
    "beside the protocol": "results and text that have a label which the protocol does not name",
    "strangers in slices": "a call that a sliced protocol does not name",
    "keys of calls": "a result that says it is of another slice than its call, or of none",
    "refused and ended": "the end of a call that was refused",
}
"""Each with what it is."""
EVERYTHING = frozenset(FEATURES)

MISSING: dict[str, frozenset[str]] = {"*": frozenset()}
"""What is not built yet, by surface. `*` is all surfaces, `everything` all features."""

_ONE_AT_A_TIME = "it hears of calls when they are made, and knows nothing of messages of a model"
_IN_TURN = "it runs the tools of a message in turn, so they end in the order of the calls"
_NO_ERRORS = "the format does not say whether a tool failed"
_NO_EVENTS = "the format holds what models and tools say, and nothing that the program reports"
_NO_TIME = "the format holds no times"
_NOT_CLOSED = "a guard is not closed while calls are running"
_ASKS_AGAIN = "whoever reserves cannot wait, and is told to ask again"
_FAILURES = ("fails undone", "fails done", "fails unknown", "retries")
_SEVERAL = ("several out", "waiting", "foreseen", "several reasons", "late", "overlap")

BY_NATURE: dict[str, dict[str, str]] = {
    "monitor": {
        **dict.fromkeys((*_SEVERAL, "unended", "fails unknown"), _ONE_AT_A_TIME),
        "beside the protocol": "it judges labelled events strictly: what a protocol does not name is refused",
    },
    "guard run": dict.fromkeys(("late", "overlap", "unended"), _IN_TURN),
    "guard arun": {"unended": _NOT_CLOSED, "overlap": "batches that run at the same time wait each for its own"},
    "guard by hand": {"waiting": _ASKS_AGAIN, "unended": _NOT_CLOSED},
    "guard in memory store": {"waiting": _ASKS_AGAIN, "unended": _NOT_CLOSED},
    "guard in sqlite": {"waiting": _ASKS_AGAIN, "unended": _NOT_CLOSED},
    "langchain": dict.fromkeys(("late", "overlap", "unended"), _IN_TURN)
    | dict.fromkeys(("program events", "approvals"), "the program around an agent has no entry there")
    | dict.fromkeys(("gates", "answers"), "its driver does not answer the questions that end a turn")
    | {"text": "what is said between two calls would be a turn of its own"}
    | {"waiting": "a node cannot wait for other nodes: what a guard would hold is told to ask again"},
    "tool middleware": dict.fromkeys(("late", "overlap", "unended"), _IN_TURN)
    | dict.fromkeys(("text", "program events", "approvals", "answers"), "it is asked about tools alone"),
    "trace": dict.fromkeys(_SEVERAL, _ONE_AT_A_TIME) | {"time": "a run has times of its own form"},
    "studio": dict.fromkeys(("program events", "approvals", "answers"), _NO_EVENTS),
    "audit openai-chat": dict.fromkeys(_FAILURES, _NO_ERRORS)
    | dict.fromkeys(("program events", "approvals", "answers"), _NO_EVENTS)
    | {"time": _NO_TIME},
    "audit openai-responses": dict.fromkeys(_FAILURES, _NO_ERRORS)
    | {"overlap": "calls of two answers with nothing between them look like those of one"}
    | dict.fromkeys(("program events", "approvals", "answers"), _NO_EVENTS)
    | {"time": _NO_TIME},
    "audit anthropic": dict.fromkeys(("program events", "approvals", "answers"), _NO_EVENTS) | {"time": _NO_TIME},
    "audit session": dict.fromkeys(("program events", "approvals", "answers"), _NO_EVENTS),
    "audit tau2-bench": dict.fromkeys(("program events", "approvals", "answers"), _NO_EVENTS),
    "audit otlp": dict.fromkeys(("program events", "approvals", "answers", "text"), _NO_EVENTS)
    | {"unended": "a span is a call and its end"}
    | {"overlap": "calls that run at the same time are taken for those of one answer, where no answer is recorded"}
    | {"time": _NO_TIME},
    "audit mapping": dict.fromkeys(("approvals", "answers"), "a record does not say who made an event happen"),
}
"""What a surface cannot have, with the reason."""


def can(surface: str) -> frozenset[str] | None:
    """The features of a surface now; `None` if it is not there yet."""
    if "everything" in MISSING.get(surface, ()):
        return None
    lacking = MISSING["*"] | MISSING.get(surface, frozenset()) | set(BY_NATURE.get(surface, ()))
    return EVERYTHING - lacking


# -- the tree where it is new ------------------------------------------------------------------------------------------


def is_open(declaration) -> bool:
    """Whether a protocol lets pass what it does not name."""
    return declaration.is_open


def keeps_names(events) -> bool:
    """Whether what no line takes keeps its own name."""
    return events.keeps_names


def failure_lines(document) -> list[tuple[tuple[str, ...], str]]:
    """What a contract says of failing tools: names, none for all others, and the meaning."""
    block = document.tools
    if block is None:
        return []
    lines = [((name,), meaning) for name, meaning in block.named.items()]
    return lines + ([((), block.otherwise)] if block.otherwise else [])


def speaks(text: str) -> bool:
    """Whether the language has what a text uses."""
    _, findings = examine(Source(text, "<contract>"))
    return not any(finding.severity == "error" for finding in findings)
