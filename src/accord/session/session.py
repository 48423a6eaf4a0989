"""`Session`: all roles of one conversation, watched at once.

It is used in one of two ways. An observer that sees every message calls `observe`. Or the roles report for themselves,
each through its endpoint (`session["A"]`): what it sends goes into a channel, and is received from there, first in,
first out.

The whole state is one reference, `_at`, and the trace, and both are committed as in `Monitor`: in one line of byte code
without a call, if the session is still where it was. So a session is safe under threads without a lock.
"""

from __future__ import annotations

from sys import intern
from typing import TYPE_CHECKING, Self

from accord.choreography.compiling import compile_contract
from accord.errors import UsageError
from accord.language.global_printer import print_exchange
from accord.machine.contract import Contract
from accord.monitor.atomicity import atomic
from accord.monitor.events import make_event, make_time
from accord.monitor.step import begin
from accord.monitor.verdicts import OK, Blocked, Violation
from accord.session.crew import crew_of
from accord.session.history import rules_of
from accord.session.judging import Apart, Doing, close, joint_of, judge, options, phase_of, tick

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from accord.canonical import Json
    from accord.language.tree import Direction
    from accord.machine.clocks import Time
    from accord.monitor.step import Mode, Status
    from accord.monitor.verdicts import Verdict
    from accord.session.judging import Place

__all__ = ["Endpoint", "Session"]


@atomic("observe", "close", "tick", "_attempt")
class Session:
    """Watches one conversation between the roles of a protocol.

    `contract` is a text (`str`), a file (`Path`) or a compiled contract, which any number of sessions can share. Where
    it declares several protocols between roles, `protocol` names one. In mode `halt` everything after a violation is
    blocked; in mode `refuse` a violation is recorded and changes nothing.

    Example:
        >>> session = Session("protocol P { A -> B: Ask; B -> A: Answer }")
        >>> session.observe("A", "B", "Ask"), session.observe("A", "B", "Ask")
        (Ok(), Violation(expected=['B -> A: Answer'], got='A -> B: Ask'))
    """

    __slots__ = ("_at", "_before", "_contract", "_crew", "_lock", "_mode", "_trace")

    def __init__(
        self,
        contract: str | Path | Contract,
        *,
        protocol: str | None = None,
        mode: Mode = "halt",
        at: Time | None = None,
    ) -> None:
        if mode not in {"halt", "refuse"}:
            raise UsageError(f"mode is `halt` or `refuse`, got {mode!r}")
        if not isinstance(contract, Contract):
            contract = compile_contract(contract)
        self._contract = contract
        self._crew = crew_of(contract, protocol)
        self._mode: Mode = mode
        rules = rules_of(contract)
        start = self._crew.start
        self._at: Place = start if rules is None else Apart(start, begin(rules, None, make_time(at)))
        self._trace: list[str] = []
        self._before = 0  # events before this session was restored

    # -- what happens --------------------------------------------------------------------------------------------------

    def observe(
        self,
        sender: str,
        receiver: str,
        label: str | None = None,
        payload: Mapping[str, object] | None = None,
        by: str | None = None,
        at: Time | None = None,
    ) -> Verdict:
        """Somebody has seen a message; where only one is legal from there to there, its label may be left out."""
        place = self._at
        try:
            word, check, after = place.links[sender, receiver, label]
        except (KeyError, TypeError):
            return self._attempt(sender, "!", receiver, label, payload, by, at, observed=True)
        fine = by is None and at is None and (payload is None or type(payload) is dict)
        if fine and (check is None or check(payload) is None):  # noqa: SIM102 - one line commits, without a call
            if self._at is place: self._trace += word; self._at = after; return OK  # fmt: skip  # noqa: E701, E702
        return self._attempt(sender, "!", receiver, label, payload, by, at, observed=True)

    def peek(
        self,
        sender: str,
        receiver: str,
        label: str | None = None,
        payload: Mapping[str, object] | None = None,
        by: str | None = None,
        at: Time | None = None,
    ) -> Verdict:
        """What `observe` would answer; changes nothing."""
        return self._ask(sender, "!", receiver, label, payload, by, at, observed=True)

    def peek_close(self, at: Time | None = None) -> Verdict:
        """What `close` would answer; changes nothing."""
        return close(self._at, make_time(at))[1]

    def peek_tick(self, at: Time) -> Verdict:
        """What `tick` would answer; changes nothing."""
        return tick(self._at, make_time(at), self._mode)[1]

    def __getitem__(self, role: str) -> Endpoint:
        """The endpoint of a role, through which it reports what it sends and receives."""
        return Endpoint(self, self._crew.choreography.role(role))

    def tick(self, at: Time) -> Verdict:
        """Time passes and nothing happens: what rules required until then is overdue."""
        time = make_time(at)
        while True:
            place = self._at
            after, verdict = tick(place, time, self._mode)
            if self._at is place: self._at = after; return verdict  # fmt: skip  # noqa: E701, E702

    def close(self, at: Time | None = None) -> Verdict:
        """Nothing more will come: `Ok` if nothing is owed, else a violation that says what, and by whom."""
        time = make_time(at)
        while True:
            place = self._at
            after, verdict = close(place, time)
            if self._at is place: self._at = after; return verdict  # fmt: skip  # noqa: E701, E702

    # -- questions -----------------------------------------------------------------------------------------------------

    def allowed(self) -> list[str]:
        """The messages that may be sent now, as `A -> B: label`, sorted; empty when halted or closed."""
        place = self._at
        if phase_of(place) != "running":
            return []
        joint = joint_of(place)
        return sorted(
            print_exchange(role, partner, label)
            for role in self._crew.roles
            for direction, partner, label in joint.deeds(role)
            if direction == "!"
        )

    @property
    def states(self) -> dict[str, int]:
        """The state each role is in, as `accord show` numbers them."""
        return dict(zip(self._crew.roles, joint_of(self._at).states, strict=True))

    @property
    def under_way(self) -> dict[tuple[str, str], list[str]]:
        """What was sent and not received yet, by sender and receiver, the oldest first."""
        return {ends: list(labels) for ends, labels in joint_of(self._at).channels}

    @property
    def status(self) -> Status:
        """`running`, `complete`, `violated` or `incomplete`."""
        place = self._at
        phase = phase_of(place)
        if phase != "running":
            return phase  # type: ignore[return-value] # a session is never puzzled
        situation = place.situation if isinstance(place, Apart) else None
        return "complete" if joint_of(place).complete and (situation is None or situation.complete) else "running"

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles of the protocol."""
        return self._crew.roles

    @property
    def mode(self) -> Mode:
        """`halt` or `refuse`."""
        return self._mode

    @property
    def contract(self) -> Contract:
        """The compiled contract."""
        return self._contract

    @property
    def protocol(self) -> str:
        """The name of the protocol."""
        return self._crew.choreography.name

    @property
    def trace(self) -> list[str]:
        """Every attempt so far, in order, accepted or not; a list of your own."""
        return list(self._trace)

    def __repr__(self) -> str:
        return f"<Session {self.protocol} of {', '.join(self.roles)}: {self.status}>"

    # -- keeping a session ---------------------------------------------------------------------------------------------

    def snapshot(self, *, key: bytes | None = None) -> dict[str, Json]:
        """The session as it stands, in JSON values, whatever the length of its trace; as for a `Monitor`."""
        from accord.session import snapshot as snapshots  # noqa: PLC0415 - loaded with its decoder when first needed

        place, seen = self._at, len(self._trace)
        return snapshots.write(place, self._contract, self.protocol, self._mode, self._before + seen, key)

    @classmethod
    def restore(
        cls,
        contract: str | Path | Contract,
        snapshot: Mapping[str, object] | str | bytes,
        key: bytes | None = None,
    ) -> Self:
        """A session that goes on where the snapshot was taken.

        Raises `UsageError` if the snapshot is damaged, forged, or of another contract.
        """
        from accord.session import snapshot as snapshots  # noqa: PLC0415 - loaded with its decoder when first needed

        if not isinstance(contract, Contract):
            contract = compile_contract(contract)
        place, protocol, mode, events = snapshots.read(snapshot, contract, key)
        session = cls(contract, protocol=protocol, mode=mode)
        session._at, session._before = place, events
        return session

    def __reduce__(self) -> tuple[object, ...]:
        raise UsageError("a session cannot be copied or pickled; use snapshot() and Session.restore()")

    # -- the slow path -------------------------------------------------------------------------------------------------

    def _attempt(
        self,
        role: str,
        direction: Direction,
        partner: str,
        label: str | None,
        payload: Mapping[str, object] | None,
        by: str | None = None,
        at: Time | None = None,
        *,
        observed: bool = False,
    ) -> Verdict:
        while True:
            place = self._at
            doing = self._doing(place, role, direction, partner, label, payload, by, at, observed=observed)
            after: Place = place
            verdict: Verdict
            if isinstance(doing, Violation):  # nothing could be meant
                verdict, word = doing, doing.got
                if self._mode == "halt":
                    joint, situation = joint_of(place), place.situation if isinstance(place, Apart) else None
                    after = Apart(joint, situation, "violated")
            else:
                word = doing.word
                after, verdict = self._judge(place, doing)
            if isinstance(verdict, Violation):
                verdict = verdict.at_position(self._before + len(self._trace))
            entry = (intern(word),)
            if self._at is place: self._trace += entry; self._at = after; return verdict  # fmt: skip  # noqa: E701, E702

    def _ask(
        self,
        role: str,
        direction: Direction,
        partner: str,
        label: str | None,
        payload: Mapping[str, object] | None,
        by: str | None = None,
        at: Time | None = None,
        *,
        observed: bool = False,
    ) -> Verdict:
        place = self._at
        doing = self._doing(place, role, direction, partner, label, payload, by, at, observed=observed)
        return doing if isinstance(doing, Violation) else self._judge(place, doing)[1]

    def _judge(self, place: Place, doing: Doing) -> tuple[Place, Verdict]:
        try:
            return judge(place, doing, self._mode)
        except UsageError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever broke inside, the answer is no
            return place, Blocked(f"accord failed inside ({error!r})")

    def _doing(  # noqa: PLR0913 - an attempt has that many sides
        self,
        place: Place,
        role: str,
        direction: Direction,
        partner: str,
        label: str | None,
        payload: Mapping[str, object] | None,
        by: str | None,
        at: Time | None,
        *,
        observed: bool,
    ) -> Doing | Violation:
        """What is meant, or the violation if no label was given and nothing could be meant."""
        choreography = self._crew.choreography
        choreography.role(role)
        choreography.role(partner)
        joint = joint_of(place)
        if joint is not self._crew.start and joint.played is observed:
            how = "by its roles, through session[role]" if joint.played else "by an observer, through observe()"
            raise UsageError(f"this session is watched {how}; it cannot be both, or messages would count twice")
        if label is None:
            label = self._only_label(place, role, direction, partner)
            if label is None:
                word = print_exchange(*((role, partner) if direction == "!" else (partner, role)), "?")
                told = f"`{role}` may {'send' if direction == '!' else 'receive'} nothing there now."
                expected = options(joint, role)
                return Violation.blaming((role,), expected, word, told, contract=choreography.name)
        event = make_event(direction, label, payload, partner, by, at)
        return Doing(role, (direction, partner, event.label), event.payload, event.by, event.at, observed)

    def _only_label(self, place: Place, role: str, direction: Direction, partner: str) -> str | None:
        """The one label that is legal there, `None` if there is none; `UsageError` if there are several."""
        labels = [label for way, whom, label in joint_of(place).deeds(role) if (way, whom) == (direction, partner)]
        there = joint_of(place).head(partner, role) if direction == "?" else None
        if there in labels:
            return there  # what is there is what is received
        if len(labels) > 1:
            listed = ", ".join(f"`{label}`" for label in sorted(labels))
            raise UsageError(f"`{role}` and `{partner}` have several messages to choose from; name one of {listed}")
        return labels[0] if labels else None


class Endpoint:
    """One role of a session, which reports what it sends and what it receives."""

    __slots__ = ("_role", "_session")

    def __init__(self, session: Session, role: str) -> None:
        self._session = session
        self._role = role

    def send(
        self,
        label: str | None = None,
        payload: Mapping[str, object] | None = None,
        *,
        to: str,
        by: str | None = None,
        at: Time | None = None,
    ) -> Verdict:
        """The role sends a message; its label may be left out where only one is legal."""
        return self._session._attempt(self._role, "!", to, label, payload, by, at)  # noqa: SLF001 - a part of it

    def receive(
        self,
        label: str | None = None,
        payload: Mapping[str, object] | None = None,
        *,
        sender: str,
        by: str | None = None,
        at: Time | None = None,
    ) -> Verdict:
        """The role receives a message; its label may be left out where only one is legal."""
        return self._session._attempt(self._role, "?", sender, label, payload, by, at)  # noqa: SLF001 - a part of it

    def peek_send(
        self,
        label: str | None = None,
        payload: Mapping[str, object] | None = None,
        *,
        to: str,
        by: str | None = None,
        at: Time | None = None,
    ) -> Verdict:
        """What `send` would answer; changes nothing."""
        return self._session._ask(self._role, "!", to, label, payload, by, at)  # noqa: SLF001 - a part of it

    def peek_receive(
        self,
        label: str | None = None,
        payload: Mapping[str, object] | None = None,
        *,
        sender: str,
        by: str | None = None,
        at: Time | None = None,
    ) -> Verdict:
        """What `receive` would answer; changes nothing."""
        return self._session._ask(self._role, "?", sender, label, payload, by, at)  # noqa: SLF001 - a part of it

    def allowed(self) -> list[str]:
        """What the role may do now, as exchanges, sorted: what it may send, and what it waits for."""
        place = self._session._at  # noqa: SLF001 - a part of it
        return options(joint_of(place), self._role) if phase_of(place) == "running" else []

    @property
    def role(self) -> str:
        """Its name."""
        return self._role

    def __repr__(self) -> str:
        return f"<Endpoint {self._role} of {self._session!r}>"
