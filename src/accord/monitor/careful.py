"""The monitor of a contract with rules, clauses or gates: the same answers, and quick ways to them.

A monitor becomes one when it is made for such a contract. Where everything a step needs has been met before (the
link, the rules' own steps, the options among which the data chooses), it commits as `Monitor` does, in one stretch of
byte code without a call; else it takes the slow path, which is right for everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accord.machine.guards import Failure
from accord.monitor.atomicity import atomic
from accord.monitor.events import NO_PAYLOAD
from accord.monitor.monitor import Monitor
from accord.monitor.verdicts import OK

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.language.tree import Direction
    from accord.machine.guards import Check, Registers
    from accord.machine.standing import GuardedLinks, Links, Standing, WatchedLinks
    from accord.monitor.step import Place
    from accord.monitor.verdicts import Verdict

__all__ = ["CarefulMonitor"]


@atomic("send", "receive")
class CarefulMonitor(Monitor):
    """A monitor that looks at more than labels."""

    __slots__ = ()

    def send(self, label: str, payload: Mapping[str, object] | None = None, to: str | None = None) -> Verdict:
        """The agent sends a message or calls a tool; `to` names the partner where the contract needs it."""
        if type(label) is str and to is None and (payload is None or type(payload) is dict):
            at = self._at
            return self._step(at, at.sends, at.watched_sends, at.guarded_sends, "!", label, payload)
        return self._attempt("!", label, payload, to, None)

    def receive(
        self,
        label: str,
        payload: Mapping[str, object] | None = None,
        sender: str | None = None,
        by: str | None = None,
    ) -> Verdict:
        """Something reaches the agent; `by` names the person whose step it is, `sender` the partner."""
        if type(label) is str and sender is None and by is None and (payload is None or type(payload) is dict):
            at = self._at
            return self._step(at, at.receives, at.watched_receives, at.guarded_receives, "?", label, payload)
        return self._attempt("?", label, payload, sender, by)

    def _step(
        self,
        at: Place,
        links: Links,
        watched: WatchedLinks,
        guarded: GuardedLinks,
        direction: Direction,
        label: str,
        payload: Mapping[str, object] | None,
    ) -> Verdict:
        """A step of a contract with rules or data: quick where everything it needs has been met before."""
        link = links.get(label)
        if link is not None:
            word, after = link
            if self._at is at: self._trace += word; self._at = after; return OK  # fmt: skip  # noqa: E701, E702
        watched_link = watched.get(label)
        if watched_link is not None:
            word, after, watching = watched_link
            rules = self._rules
            stepped = list(rules)
            for index in watching:
                node = stepped[index].links.get(word[0])
                if node is None:
                    return self._attempt(direction, label, payload, None, None)
                stepped[index] = node
            nodes = tuple(stepped)
            if self._at is at and self._rules is rules: self._trace += word; self._at = after; self._rules = nodes; return OK  # fmt: skip  # noqa: E501, E701, E702
        guarded_link = guarded.get(label)
        if guarded_link is not None:
            word, options = guarded_link
            held: Any = self._held  # registers: a session with several possibilities has no links
            try:
                taken = _choose(options, payload or NO_PAYLOAD, held)
            except Exception:  # noqa: BLE001 - told on the slow path, where the answer is no
                taken = None
            if taken is not None:
                registers, after = taken
                if self._at is at and self._held is held: self._trace += word; self._at = after; self._held = registers; return OK  # fmt: skip  # noqa: E501, E701, E702
        return self._attempt(direction, label, payload, None, None)


def _choose(
    options: tuple[tuple[Check, Standing], ...], payload: Mapping[str, object], held: Registers
) -> tuple[Registers, Standing] | None:
    """The one option that takes the payload, with the registers after it; `None` if there is not exactly one."""
    chosen: tuple[Registers, Standing] | None = None
    for check, after in options:
        registers = check(payload, None, held)
        if registers.__class__ is not Failure:
            if chosen is not None:
                return None
            chosen = registers, after  # type: ignore[assignment] # not a failure
    return chosen
