"""Transcripts of coding agents: a line per event, of which only messages of the user and the agent are part of a run.

One message of the API is written as several lines that share its `message.id`, a block each, with results between
them. They are put together where the first one stands, so that calls made in parallel are seen as such. What agents
under the agent say and do (`isSidechain`) is a run of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import msgspec

from accord.projection.open_calls import OpenCalls
from accord.sources.anthropic import Block, Blocks, block_messages
from accord.sources.metadata import scalars
from accord.sources.model import Broken, Run
from accord.sources.reader import Reader
from accord.sources.records import Keys, Shape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.sources.model import Message
    from accord.sources.sketch import Sketch

__all__ = ["SESSIONS"]


class _Said(Blocks, gc=False):
    role: str = ""
    id: str | None = None
    model: str | None = None


class _Line(msgspec.Struct, gc=False):
    type: str = ""
    message: _Said | None = None
    sessionId: str | None = None  # noqa: N815 - as it is written
    agentId: str | None = None  # noqa: N815
    isSidechain: bool | None = None  # noqa: N815
    isMeta: bool | None = None  # noqa: N815
    timestamp: str | None = None
    uuid: str | None = None


class _Turn(msgspec.Struct, gc=False):
    """A message of the API, put together from its lines."""

    index: int
    message: _Said
    moment: str | None
    speaks: bool


class _Session(msgspec.Struct):
    line: int | None
    turns: list[_Turn] = []
    by_id: dict[str, _Turn] = {}
    model: str | None = None


_LINES = Shape(_Line)


def _read(stream: BinaryIO, file: str) -> Iterator[Run | Broken]:
    sessions: dict[tuple[str, str | None], _Session] = {}
    for record in _LINES.records(stream, file):
        if isinstance(record, Broken):
            yield record
            continue
        line = record.value
        if line.message is None or line.type not in {"user", "assistant"}:
            continue
        key = (line.sessionId or "session", (line.agentId or "sidechain") if line.isSidechain else None)
        session = sessions.get(key)
        if session is None:
            session = sessions[key] = _Session(record.line)
        _add(session, record.place, line, line.message)
    keys = Keys()
    for key, session in sessions.items():
        metadata = scalars({"model": session.model})
        name = key[0] if key[1] is None else f"{key[0]}/{key[1]}"
        yield Run(keys.unique(name), file, _messages(session), session.line, metadata)


def _add(session: _Session, index: int, line: _Line, message: _Said) -> None:
    message.role = message.role or line.type
    known = session.by_id.get(message.id) if message.id and message.role == "assistant" else None
    if known is not None:
        _merge(known.message, message)
        return
    turn = _Turn(index, message, line.timestamp, not line.isMeta)
    session.turns.append(turn)
    if message.id and message.role == "assistant":
        session.by_id[message.id] = turn
        session.model = session.model or message.model


def _merge(message: _Said, more: _Said) -> None:
    """Add the blocks of a later line; a call that was written before is not made again."""
    blocks, added = _blocks(message), _blocks(more)
    ids = {block.id for block in blocks if block.id}
    said = {block.text for block in blocks if block.text}
    message.content = blocks + [b for b in added if not (b.id and b.id in ids) and not (b.text and b.text in said)]


def _blocks(message: _Said) -> list[Block]:
    content = message.content
    if isinstance(content, str):
        return [Block("text", content)]
    return content or []


def _messages(session: _Session) -> list[Message]:
    calls: OpenCalls[Message] = OpenCalls()
    found: list[Message] = []
    for turn in session.turns:
        found += block_messages(turn.index, turn.message, calls, turn.moment, speaks=turn.speaks)
    return found


def _recognises(sketch: Sketch) -> bool:
    return {"sessionId", "message", "uuid"} <= sketch.keys and bool({"user", "assistant"} & sketch.types)


SESSIONS = Reader("session", 1, _recognises, _read)
