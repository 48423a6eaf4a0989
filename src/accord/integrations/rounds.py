"""The tool calls of one response in the agent's view, on their way: decided, out, ended.

What is legal whatever comes back goes out, in order; what has to wait for it is decided again whenever a call has
ended. INVARIANT: whatever went out is ended or taken back, also when a tool is interrupted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from accord.errors import NotDone, ViolationError
from accord.integrations import batch
from accord.integrations.conduct import Ended
from accord.monitor.verdicts import OK

if TYPE_CHECKING:
    from threading import RLock

    from accord.integrations.batch import Claim
    from accord.integrations.conduct import Conduct
    from accord.integrations.exchange import ToolResult
    from accord.monitor import Verdict

__all__ = ["Rounds"]

_NOT_BEGUN = "not run, because the batch was interrupted"
_INTERRUPTED = "nobody was told how it ended"
_CUT_OFF = "it was running when another call of its response was refused"


class Rounds:
    """The calls of one response on their way."""

    def __init__(self, conduct: Conduct, lock: RLock, claims: list[Claim], *, halts: bool) -> None:
        self._conduct = conduct
        self._lock = lock
        self._halts = halts
        self._claims = claims
        self._results: list[ToolResult | None] = [None] * len(claims)
        self._waiting = list(range(len(claims)))
        self._out: list[int] = []
        self._begun: set[int] = set()

    def ready(self) -> list[int]:
        """The places of the calls that run next; asked again whenever one has ended."""
        asked = self._waiting
        if not asked:
            return []
        with self._lock:  # the calls of one response stand together, whatever other threads ask for
            ahead = [self._claims[place].ticket or "" for place in self._out]
            claims = self._conduct.reserve([self._claims[place] for place in asked], ahead=ahead)
        self._waiting = [place for place, claim in zip(asked, claims, strict=True) if claim.held]
        begun: list[int] = []
        refused: Verdict | None = None
        for place, claim in zip(asked, claims, strict=True):
            if claim.held:
                continue
            self._claims[place] = claim
            if claim.may_run:
                begun.append(place)
            else:
                self._results[place] = batch.failed(claim)
                refused = refused or claim.verdict
        self._out += begun
        self._stop_if(refused)
        return begun

    def begin(self, place: int) -> Claim:
        """The call that runs next."""
        self._begun.add(place)
        return self._claims[place]

    def end(self, place: int, ended: Ended) -> None:
        """A call has ended."""
        claim = self._claims[place]
        if ended.error is None:
            result = batch.finished(claim, ended.value)
        else:
            result = claim.result(error=batch.in_words(ended.error))
        with self._lock:
            verdict = self._conduct.end(claim, ended)
        self._out.remove(place)
        self._results[place] = result = batch.let_through(result, verdict)
        self._stop_if(result.verdict)

    def abandon(self) -> None:
        """Take back what went out and was never begun, the last first: it may rest on those before it."""
        for place in reversed(self._out):
            error = RuntimeError(_INTERRUPTED) if place in self._begun else NotDone(_NOT_BEGUN)
            with self._lock:
                self._conduct.end(self._claims[place], Ended(error=error))
        self._out.clear()

    def _stop_if(self, refused: Verdict | None) -> None:
        """In a session that halts, one refusal is the end of all."""
        if refused is not None and self._halts:
            raise ViolationError(batch.in_words(refused), refused, results=self.results())

    def results(self) -> list[ToolResult]:
        """What became of each call."""
        return [self._left(place) if result is None else result for place, result in enumerate(self._results)]

    def _left(self, place: int) -> ToolResult:
        """What became of a call that had not ended when the session was halted."""
        if place in self._begun:
            return self._claims[place].result(error=_CUT_OFF)
        return batch.not_run(replace(self._claims[place], verdict=OK))
