"""`Sample`: something that a version of accord leaves behind, and how a later one goes on with it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from accord import Blocked
from accord.errors import AccordError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from accord.testing.servers import Server

__all__ = ["Sample", "answers", "went_on"]


class Sample(NamedTuple):
    """What is kept in a folder of its own.

    `write` is given that folder, `go_on` a copy of it; what `go_on` returns is JSON and says what a user would notice.
    With a `server` both are also given the address of one that is empty.
    """

    write: Callable[..., None]
    go_on: Callable[..., object]
    server: type[Server] | None = None


def went_on(sample: Sample, folder: Path, *address: str) -> object:
    """What became of it; if it was refused, why."""
    try:
        return json.loads(json.dumps(sample.go_on(folder, *address)))
    except AccordError as error:
        return {"refused": type(error).__name__, "why": str(error)}


def answers(session: object, *steps: Callable[..., object]) -> list[str]:
    """What a session answers to steps, one after the other; how a refusal is worded may change from day to day."""
    given = [step(session) for step in steps]
    return ["Blocked" if isinstance(answer, Blocked) else repr(answer) for answer in given]
