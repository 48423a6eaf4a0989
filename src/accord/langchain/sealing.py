"""What is kept in a checkpoint, sealed: a session between two steps of its graph, what became of a call, and proposals.

Whoever can write to the state of a graph (its caller, a tool, `update_state`) could otherwise say where a session
stands. So each text names its thread, its agent and its contract, and ends in a seal over all of that: a checksum, or
an HMAC if there is a secret. INVARIANT: nothing is read from a text before its seal was found right.

A seal does not tell an old text from a new one: a thread that is taken back to an earlier checkpoint is where it was
then. That is what LangGraph means by it.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import msgspec

from accord.diagnostics.visible import clip
from accord.errors import CorruptSessionError
from accord.langchain.naming import place_name
from accord.ledger.entries import seal

if TYPE_CHECKING:
    from collections.abc import Callable

    from langgraph.runtime import ExecutionInfo

__all__ = [
    "Kept",
    "Proposed",
    "Returned",
    "Where",
    "corrupt",
    "open_kept",
    "open_proposed",
    "open_returned",
    "seal_kept",
    "seal_proposed",
    "seal_returned",
]

VERSION = 1

_Count = Annotated[int, msgspec.Meta(ge=1)]


class Where(NamedTuple):
    """Which session is meant: the thread, and the agent in it, by the names of the nodes that lead to it."""

    thread: str
    agent: str

    @classmethod
    def of(cls, info: ExecutionInfo | None) -> Where:
        """The thread that a hook runs in, and the agent, by the nodes that lead to it from the outermost graph."""
        if info is None:
            return cls("", "")
        inner = info.checkpoint_ns
        agent = "|".join(part.partition(":")[0] for part in inner.split("|")[:-1]) if "|" in inner else ""
        return cls("" if info.thread_id is None else str(info.thread_id), agent)

    def __str__(self) -> str:
        return place_name(self.thread, self.agent)


class Kept(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A session at rest. `number` counts the sessions of its thread; `trace` is kept where it is asked for."""

    what: str = "session"
    form: int = VERSION
    thread: str
    agent: str
    contract: str
    protocol: str | None
    number: _Count
    session: msgspec.Raw
    guard: msgspec.Raw
    trace: tuple[tuple[str, str | None], ...] = ()


class Returned(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What became of a call, and when: what its tool returned, as a contract sees it, or why it failed.

    `undone` says that it failed before it did anything.
    """

    what: str = "return"
    form: int = VERSION
    thread: str
    agent: str
    contract: str
    number: _Count
    ticket: str
    result: dict[str, Any] = {}
    error: str | None = None
    at: int | float | None = None
    undone: bool = False


class Proposed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The calls that a model has made, and the session as it stood then, each by a digest."""

    what: str = "proposed"
    form: int = VERSION
    thread: str
    agent: str
    contract: str
    calls: str
    session: str


_S = TypeVar("_S", Kept, Returned, Proposed)

# Made once, while the module is imported: making them is not safe when several threads do it at the same time.
_KEPT = msgspec.json.Decoder(Kept)
_RETURNED = msgspec.json.Decoder(Returned)
_PROPOSED = msgspec.json.Decoder(Proposed)
_ENCODER = msgspec.json.Encoder()

_OPENING = '{"kept":'
_BEFORE_SEAL = ',"seal":"'
_FRAMED = len(_BEFORE_SEAL) + 64 + len('"}')


def seal_kept(kept: Kept, secret: bytes | None) -> str:
    """The text that holds a session."""
    return _write(kept, secret)


def seal_returned(returned: Returned, secret: bytes | None) -> str:
    """The text that holds what became of a call."""
    return _write(returned, secret)


def seal_proposed(proposed: Proposed, secret: bytes | None) -> str:
    """The text that holds what a model has proposed."""
    return _write(proposed, secret)


def open_kept(text: object, where: Where, contract: str, secret: bytes | None) -> Kept:
    """The session in a text; `CorruptSessionError` if it is none, or that of something else."""
    kept = _read(text, where, secret, _KEPT.decode)
    return _check(kept, "session", where, contract)


def open_returned(text: object, where: Where, contract: str, secret: bytes | None) -> Returned:
    """What became of a call; `CorruptSessionError` as above."""
    returned = _read(text, where, secret, _RETURNED.decode)
    return _check(returned, "return", where, contract)


def open_proposed(text: object, where: Where, contract: str, secret: bytes | None) -> Proposed:
    """What a model has proposed; `CorruptSessionError` as above."""
    proposed = _read(text, where, secret, _PROPOSED.decode)
    return _check(proposed, "proposed", where, contract)


def corrupt(where: Where, what: str) -> CorruptSessionError:
    """What is said when the state of a graph is not what was written."""
    return CorruptSessionError(f"the session of thread `{clip(str(where), 60)}` is corrupted: {what}; nothing runs")


def _write(content: Kept | Returned | Proposed, secret: bytes | None) -> str:
    body = _ENCODER.encode(content)
    return f'{_OPENING}{body.decode()}{_BEFORE_SEAL}{seal(body, secret)}"}}'


def _read(text: object, where: Where, secret: bytes | None, decode: Callable[[bytes], _S]) -> _S:
    if type(text) is not str or len(text) < len(_OPENING) + _FRAMED:
        raise corrupt(where, "what the checkpoint holds is no session")
    try:
        body = text[len(_OPENING) : -_FRAMED].encode()
    except UnicodeEncodeError:
        raise corrupt(where, "what the checkpoint holds is no session") from None
    ends = text[-_FRAMED:]
    if not (text.startswith(_OPENING) and ends.startswith(_BEFORE_SEAL) and ends.endswith('"}')):
        raise corrupt(where, "what the checkpoint holds is no session")
    given = ends[len(_BEFORE_SEAL) : -2]
    if not given.isascii() or not hmac.compare_digest(given, seal(body, secret)):
        other = ", or the secret is another one" if secret is not None else ", or it was written with a secret"
        raise corrupt(where, f"it does not match its seal: it was changed{other}")
    try:
        return decode(body)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise corrupt(where, f"it is none of this version ({clip(str(error), 100)})") from None


def _check(content: _S, what: str, where: Where, contract: str) -> _S:
    if (content.what, content.form) != (what, VERSION):
        raise corrupt(where, "it is none of this version")
    if (content.thread, content.agent) != where:
        other = Where(content.thread, content.agent)
        raise corrupt(where, f"that of another thread, `{clip(str(other), 60)}`, stands in its place")
    if content.contract != contract:
        raise CorruptSessionError(
            f"the session of thread `{clip(str(where), 60)}` was begun under another contract, "
            f"{content.contract[:19]}…; this one is {contract[:19]}…; nothing runs"
        )
    return content
