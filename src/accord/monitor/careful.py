"""The monitor of a protocol with clauses or gates: the same answers, and a quick way to them.

A monitor becomes one when it is made for such a protocol. Where a step was met before and data chooses between known
options, it commits as `Monitor` does, in one stretch of byte code without a call; else it takes the slow path, which is
right for everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accord.monitor.atomicity import atomic
from accord.monitor.monitor import Monitor
from accord.monitor.verdicts import OK

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.machine.clocks import Time
    from accord.machine.guards import Registers
    from accord.machine.stages import Options, Stage
    from accord.monitor.verdicts import Verdict

__all__ = ["CarefulMonitor", "choose"]


@atomic("send", "receive")
class CarefulMonitor(Monitor):
    """A monitor that looks at more than labels."""

    __slots__ = ()

    def send(
        self,
        label: str,
        payload: Mapping[str, object] | None = None,
        to: str | None = None,
        at: Time | None = None,
    ) -> Verdict:
        """The agent sends a message or calls a tool; `to` names the partner where the contract needs it."""
        if type(label) is str and to is None and at is None and (type(payload) is dict or payload is None):
            place = self._at
            try:
                word, check, after, others = place.careful_sends[label]
                held: Any = self._held  # registers: a session with several possibilities has no links
                taken = held if check is None else check(payload, None, held)
                if others:
                    taken, after = choose(taken, after, others, payload, held)
            except Exception:  # noqa: BLE001 - not met before, no payload, or broken: told on the slow path
                return self._attempt("!", label, payload, None, None, None)
            if taken is not None and self._at is place and self._held is held: self._trace += word; self._at = after; self._held = taken; return OK  # fmt: skip  # noqa: E501, E701, E702
        return self._attempt("!", label, payload, to, None, at)

    def receive(
        self,
        label: str,
        payload: Mapping[str, object] | None = None,
        sender: str | None = None,
        by: str | None = None,
        at: Time | None = None,
    ) -> Verdict:
        """Something reaches the agent; `by` names the person whose step it is, `sender` the partner."""
        if type(label) is str and sender is None and by is None and at is None and (type(payload) is dict or payload is None):  # fmt: skip  # noqa: E501 - a name for it would cost as much as the step
            place = self._at
            try:
                word, check, after, others = place.careful_receives[label]
                held: Any = self._held
                taken = held if check is None else check(payload, None, held)
                if others:
                    taken, after = choose(taken, after, others, payload, held)
            except Exception:  # noqa: BLE001 - as above
                return self._attempt("?", label, payload, None, None, None)
            if taken is not None and self._at is place and self._held is held: self._trace += word; self._at = after; self._held = taken; return OK  # fmt: skip  # noqa: E501, E701, E702
        return self._attempt("?", label, payload, sender, by, at)


def choose(
    taken: Registers | None, after: Stage, others: Options, payload: Mapping[str, object] | None, held: Registers
) -> tuple[Registers | None, Stage]:
    """The one option that takes the payload, the first being known; none if there is not exactly one."""
    for check, target in others:
        registers = check(payload, None, held)
        if registers is not None:
            if taken is not None:
                return None, after
            taken, after = registers, target
    return taken, after
