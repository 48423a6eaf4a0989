"""Writers killed in the middle of it: what was answered is there, and the session goes on."""

from __future__ import annotations

import json
import random
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from time import sleep
from typing import TYPE_CHECKING

import pytest

import accord
from accord import Ok
from accord.stores import StoredSession
from accord.testing.agreement import attempts_of
from accord.testing.conformance.concurrency import check_answers, start_writer
from accord.testing.conformance.ground import ONE_SHOT, Ground

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.testing.crew import Writer
    from accord.testing.harness import StoreHarness

__all__ = ["CrashTests"]

_AT_A_TIME = 5
_LONGEST = 0.02  # seconds; a step that is flushed takes some thousandths


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
class CrashTests(Ground):
    """`kill -9`."""

    def test_kill_9_loses_nothing_that_was_answered(
        self, harness: StoreHarness, tell: Callable[[str], None], *, soak: bool
    ) -> None:
        kills = 500 if soak else 40
        dice = random.Random(9)
        answers: list[tuple[str, str, str, str]] = []
        kept = 0
        contract = accord.compile(ONE_SHOT)
        for first in range(0, kills, _AT_A_TIME):
            shared = [f"s{first}", f"t{first}"]
            crew = [start_writer(harness, f"w{first + n}", keys=shared) for n in range(min(_AT_A_TIME, kills - first))]
            when = [(dice.randint(0, 25), dice.random() * _LONGEST) for _ in crew]
            # Each at a moment of its own, and anywhere in a step, while the others go on.
            with ThreadPoolExecutor(_AT_A_TIME) as watching:
                for told in watching.map(_killed, crew, when):
                    answers += told
            with harness.open() as store:
                check_answers(store, [answer for answer in answers if answer[0] in shared], shared)
                for key in shared:  # whoever comes next is not kept waiting
                    if store.session(key) is not None:
                        kept += len(attempts_of(store, key))
                    assert StoredSession(store, contract, key).send("note") == Ok()
        with harness.open() as store:
            assert all(info.fault is None for info in store.sessions())
        assert len(answers) >= 5 * kills
        found = f"{len(answers):,} answered attempts were all there, and {kept - len(answers)} nobody was told of"
        tell(f"stores: {kills} writers killed with SIGKILL; {found}")


def _killed(writer: Writer, when: tuple[int, float]) -> list[tuple[str, str, str, str]]:
    """Kill a writer so many seconds after so many answers; all that it got out."""
    answers, pause = when
    lines = [line for _, line in zip(range(answers + 1), writer.output, strict=False)]
    sleep(pause)
    writer.kill()
    rest, complaint, code = writer.finish()  # what it got out before the end counts too
    assert code == -signal.SIGKILL, complaint.decode()
    lines += rest.splitlines(keepends=True)
    told = [json.loads(line) for line in lines if line.endswith(b"\n")]
    return [(key, event, identity, kind) for key, event, identity, kind, _ in told if key and kind != "blocked"]
