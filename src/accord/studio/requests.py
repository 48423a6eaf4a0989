"""What the page may ask, as types: whatever does not fit them is refused before anything looks at it."""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

import msgspec

from accord.errors import UsageError

__all__ = [
    "Complete",
    "ConflictError",
    "Decide",
    "Edit",
    "File",
    "Judge",
    "Key",
    "Message",
    "Named",
    "Next",
    "Nothing",
    "OneRun",
    "Put",
    "Recorded",
    "RefusedError",
    "RuleForm",
    "Runs",
    "Said",
    "Save",
    "Snippet",
    "Talk",
    "Text",
    "Tools",
    "Trace",
    "Walk",
    "read",
]


class RefusedError(UsageError):
    """The request is one that the studio does not work on."""


class ConflictError(UsageError):
    """A file holds something else than whoever saves has edited: `theirs`, or nothing if it is not there any more."""

    def __init__(self, message: str, theirs: str | None) -> None:
        super().__init__(message)
        self.theirs = theirs


class _Request(msgspec.Struct, forbid_unknown_fields=True):
    pass


class Nothing(_Request):
    """A question without anything to it."""


class Named(_Request):
    """Something that has a name."""

    name: str


class File(_Request):
    """One of the files that the studio was opened on."""

    number: int


class Save(_Request):
    """A new text for such a file; `before` is the one that was edited, or nothing if the file is to be made."""

    number: int
    path: str
    """Where the page thinks that file is: a studio that was started anew may have others under the same numbers."""
    text: str
    before: str | None


class Text(_Request):
    """A contract to look at; `everything` asks for all states of a large machine."""

    text: str
    everything: bool = False


class Trace(_Request):
    """Recorded events, as words or as JSON lines."""

    text: str


class Tools(_Request):
    """A file that tells which tools there are."""

    text: str


class Next(_Request):
    """Something that is to be tried: a move with the answers to its questions, or an event as somebody typed it."""

    move: str | None = None
    answers: list[str] = []
    text: str | None = None


class Walk(_Request):
    """A session: the contract, and the events so far, each a line as `accord replay` reads it."""

    text: str
    events: list[str] = []
    protocol: str | None = None
    mode: Literal["halt", "refuse"] = "refuse"
    at: int | float | None = None
    next: Next | None = None
    everything: bool = False


class Complete(_Request):
    """A text, the place of the caret as a browser counts it, and labels that could be meant."""

    text: str
    at: int
    palette: list[str] = []


class Put(_Request):
    """A step as a form gives it; what stands in its fields is text of a contract, but for the label."""

    sign: Literal["!", "?"]
    label: str
    partner: str = ""
    guards: str = ""
    gated: bool = False
    within: str = ""
    otherwise: str = ""


class Message(_Request):
    """A message between roles as a form gives it; with `fields`, a record says what it carries."""

    sender: str
    receiver: str
    label: str
    fields: str = ""


class RuleForm(_Request):
    """A rule as a form gives it."""

    kind: Literal["before", "before each", "after", "after each", "after forbid", "then", "later", "at most", "within"]
    first: str
    second: str = ""
    number: str = ""
    """How many times, or how long."""
    name: str = ""


class Edit(_Request):
    """One change of a text, by form or in the picture: see `accord.studio.editing`."""

    text: str
    change: Literal[
        "before", "after", "beside", "may end", "optional", "repeat", "back", "parallel", "details", "rename", "remove",
        "rename everywhere", "begin", "begin roles", "rule",
        "message before", "message after", "message beside", "message repeat", "message change", "message remove",
    ]  # fmt: skip
    at: int = 0
    """Which node of the local protocols, or which message between roles, it is about."""
    to: int | None = None
    """The node that is gone back to."""
    what: str = ""
    """A name."""
    put: Put | None = None
    message: Message | None = None
    rule: RuleForm | None = None


class Said(_Request):
    """A message from one role to another; without a label, that the conversation is closed."""

    sender: str = ""
    receiver: str = ""
    label: str | None = None
    payload: dict[str, object] = {}


class Talk(_Request):
    """A conversation between roles: the contract, and the messages so far."""

    text: str
    messages: list[Said] = []
    protocol: str | None = None
    mode: Literal["halt", "refuse"] = "refuse"
    next: Next | None = None


class Recorded(_Request):
    """A file of recorded runs: its name, and the digest that was given for its content."""

    name: str
    file: str


class Judge(_Request):
    """A file of recorded runs to be held against a contract."""

    text: str
    file: Recorded
    protocol: str | None = None


class Runs(_Request):
    """What is to be known of recorded runs: counts by a key, and from some place on those that fit a filter."""

    text: str
    files: list[Recorded]
    protocol: str | None = None
    by: str = ""
    status: Literal["", "conforming", "violating", "incomplete", "unrecognised"] = ""
    value: str | None = None
    """What the runs have under the key that is counted by; nothing for any."""
    search: str = ""
    first: Annotated[int, msgspec.Meta(ge=0)] = 0


class OneRun(_Request):
    """One run of such a file."""

    text: str
    file: Recorded
    key: str
    protocol: str | None = None


class Key(_Request):
    """A session in the store."""

    key: str


class Decide(_Request):
    """A person's answer to a review."""

    session: str
    review: str
    answer: Literal["allow", "deny", "modify"]
    by: str
    reason: str = ""
    payload: dict[str, object] | None = None


class Snippet(_Request):
    """Python code around a contract."""

    text: str
    kind: str
    protocol: str | None = None
    """Which of several between roles."""
    role: str | None = None


_T = TypeVar("_T")


def read(body: bytes, kind: type[_T]) -> _T:
    """The request in a body. Raises `RefusedError` that says what does not fit."""
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise RefusedError(f"the request cannot be read: {str(error) or 'it is nested too deep'}") from None
