"""Where a run of a trace stands with a contract: its happenings are judged as a guard would have decided about them.

A trace comes event by event, so nobody knows yet whether it speaks of ends of calls. Until the first of them comes,
calls count when they are made; with the first, everything so far is judged once more, with calls that were out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.calls.replay import Replay
from accord.calls.state import Calls
from accord.errors import UsageError
from accord.monitor.step import Situation, begin, close
from accord.projection.happenings import ENDS, Read
from accord.projection.open_calls import OpenCalls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.calls.replay import Judged
    from accord.machine.clocks import Time
    from accord.machine.contract import Contract
    from accord.monitor.step import Place
    from accord.monitor.verdicts import Verdict
    from accord.trace.boundaries import Payload

__all__ = ["Following", "Traced"]

_MOST_UNTOLD = 256
"""Happenings after which a run that spoke of no end will not be judged anew; see `OpenCalls`."""


class Traced(Read):
    """A happening of a trace. It is a message of its own, the number of which is its position."""

    index: int  # type: ignore[assignment] # nobody looks for something in a happening
    seq: int
    of: str
    ends: Traced | None = None
    """The call that it ends; `call` may know more of it, such as its id."""

    @property
    def answers(self) -> Traced | None:
        """The call that this ends."""
        return self.ends

    def at_event(self, position: int, seq: int, kind: str) -> Traced:
        """The same, with the event of the trace that tells of it."""
        self.index, self.seq, self.of = position, seq, kind
        return self


class Following:
    """Where one run stands.

    While nothing is out, that is `place` and what is `held`; so is it after a call whose result directly follows, which
    is what `before`, `called` and `call` are for: where the run was before a call that is out, its event and its tool.
    All else is followed by a `Replay`, and while one is at work `quiet` is false.
    """

    __slots__ = (
        "before", "call", "called", "calls", "contract", "has_ends", "heard", "held", "kind", "now", "over", "place",
        "position", "protocol", "quiet", "replay", "seq", "told", "untold",
    )  # fmt: skip

    def __init__(self, contract: Contract, protocol: str | None, begun: tuple[int, int, str | None]) -> None:
        self.contract, self.protocol = contract, protocol
        self.place: Place
        self.place, self.held = begin(contract, protocol)
        self.over = False
        # The last event that mattered; the first of the run while none has.
        self.position, self.seq, self.kind = begun
        self.calls = OpenCalls[Traced]()
        # Of a conversation that is told from its beginning each time, so many messages of the user are known.
        self.heard = 0
        self.before: Place | None = None
        self.call: str | None = None
        self.called: Payload = {}
        self.replay: Replay | None = None
        self.quiet = True
        self.has_ends = False
        self.untold: list[Traced] = []
        self.told: set[int] = set()
        self.now: Time | None = None

    def happen(self, happened: Traced) -> Iterator[Judged]:
        """Judge what happens, and whatever had to be judged anew because of it."""
        replay = self.replay
        if replay is None:
            replay = self.replay = Replay(self.contract, self.protocol, Situation(self.place, self.held))
        elif self.quiet:
            replay.calls = Calls(Situation(self.place, self.held))
        self.quiet = False
        if not self.has_ends:
            if happened.kind not in ENDS:
                if len(self.untold) < _MOST_UNTOLD:
                    self.untold.append(happened)
                yield from replay.happen(happened, alone=True)
                return
            anew = self.is_provisional
            self.has_ends = True
            untold, self.untold = self.untold, []
            if anew:
                replay = self.replay = Replay(self.contract, self.protocol)
                for earlier in untold:
                    yield from replay.happen(earlier)
        yield from replay.happen(happened)
        if replay.is_quiet:
            self.quiet = True
            self.place, self.held = replay.calls.settled

    @property
    def is_provisional(self) -> bool:
        """Whether what was judged so far is judged anew when the first end of a call comes."""
        untold = self.untold
        return not self.has_ends and len(untold) < _MOST_UNTOLD and any(one.kind == "call" for one in untold)

    def closing(self) -> Verdict | UsageError:
        """What would be said if the run were over."""
        try:
            if self.replay is None or self.quiet:
                return close(Situation(self.place, self.held), None, self.now)[1]
            return self.replay.close(self.now)[1]
        except UsageError as error:
            return error
