"""Where all roles of a session are, and the steps on from there, remembered.

A `Joint` is a state for each role and the messages that are under way. Joints are shared by all sessions of a protocol
and linked to each other, as the stages of a monitor are: an exchange that some session has seen before is one
dictionary look-up.

An observer sees a message when it is sent. Whoever receives it takes it as soon as its own machine lets it; until then
it is under way. That is exact, not a guess: a role of a protocol that can be followed never has to choose between
taking a message that is there and doing something else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from accord.choreography import compile_choreography
from accord.language.global_printer import print_exchange
from accord.session.payloads import payload_checks

if TYPE_CHECKING:
    from accord.choreography import Choreography
    from accord.language.tree import Direction
    from accord.machine.contract import Contract
    from accord.machine.tables import Plain
    from accord.session.payloads import PayloadCheck

__all__ = ["Channels", "Crew", "Deed", "Joint", "Links", "crew_of"]

Deed = tuple["Direction", str, str]
"""Direction, partner, label."""
Channels = tuple[tuple[tuple[str, str], tuple[str, ...]], ...]
"""For each channel that is not empty, sorted: its ends, and what is under way, the oldest first."""
Links: TypeAlias = "dict[tuple[str, str, str | None], tuple[tuple[str], PayloadCheck | None, Joint]]"
"""By sender, receiver and label: the word for the trace, the check of the payload, and the joint after it."""


class Joint:
    """A state for each role, what is under way, and whether the roles receive by themselves. Made by `Crew`."""

    __slots__ = ("channels", "crew", "links", "played", "states")

    def __init__(self, crew: Crew, states: tuple[int, ...], channels: Channels, *, played: bool) -> None:
        self.crew = crew
        self.states = states
        self.channels = channels
        self.played = played
        self.links: Links = {}

    def deeds(self, role: str) -> dict[Deed, int]:
        """What a role may do now, and the state after it."""
        index = self.crew.index[role]
        return self.crew.steps[index][self.states[index]]

    def head(self, sender: str, receiver: str) -> str | None:
        """The oldest message under way from one to the other."""
        return next((labels[0] for ends, labels in self.channels if ends == (sender, receiver)), None)

    @property
    def complete(self) -> bool:
        """Whether every role may stop here and nothing is under way."""
        return not self.channels and all(self.crew.stops[index][state] for index, state in enumerate(self.states))


class Crew:
    """The tables of all roles, and all joints that sessions have come to so far; safe to share between threads."""

    def __init__(self, choreography: Choreography, contract: Contract) -> None:
        self.choreography = choreography
        self.roles = choreography.roles
        self.index = {role: index for index, role in enumerate(self.roles)}
        self.steps: list[list[dict[Deed, int]]] = []
        self.stops: list[list[bool]] = []
        for role in self.roles:
            machine = choreography.machines[role]
            states: list[Plain] = list(machine.states)  # type: ignore[arg-type] # projections have no forks
            symbols = [(s.direction, s.partner or "", s.label) for s in machine.symbols]
            self.steps.append([{symbols[number]: target for number, target in state.edges} for state in states])
            self.stops.append([stop is not None for stop in choreography.stops[role]])
        self.checks = payload_checks(contract.document)
        self.limits = contract.limits
        self._known: dict[tuple[tuple[int, ...], Channels, bool], Joint] = {}
        self.start = self.at((0,) * len(self.roles), (), played=False)

    def at(self, states: tuple[int, ...], channels: Channels, *, played: bool) -> Joint:
        """The joint of these states and channels."""
        key = (states, channels, played)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= self.limits.remembered_standings:
                forgotten, self._known = self._known, {}
                for joint in list(forgotten.values()):
                    joint.links = {}  # so that no joint keeps all others alive
            known = self._known.setdefault(key, Joint(self, states, channels, played=played))
        return known

    def do(self, joint: Joint, role: str, deed: Deed, *, played: bool) -> Joint:
        """The joint after a role has done something that it may do and that its channels allow."""
        direction, partner, label = deed
        channels = dict(joint.channels)
        if direction == "!":
            channels[role, partner] = (*channels.get((role, partner), ()), label)
        else:
            rest = channels[partner, role][1:]
            channels.pop((partner, role))
            if rest:
                channels[partner, role] = rest
        index = self.index[role]
        states = (*joint.states[:index], joint.deeds(role)[deed], *joint.states[index + 1 :])
        return self.at(states, tuple(sorted(channels.items())), played=played)

    def deliver(self, joint: Joint) -> Joint:
        """The joint when every role has taken what is there for it."""
        moved = True
        while moved and joint.channels:
            moved = False
            for (sender, receiver), labels in joint.channels:
                deed: Deed = ("?", sender, labels[0])
                if deed in joint.deeds(receiver):
                    joint = self.do(joint, receiver, deed, played=False)
                    moved = True
                    break
        return joint

    def remember(self, joint: Joint, sender: str, receiver: str, label: str, after: Joint) -> None:
        """Link an exchange that was accepted."""
        word = (print_exchange(sender, receiver, label),)
        joint.links[sender, receiver, label] = (word, self.checks.get(label), after)


def crew_of(contract: Contract, protocol: str | None) -> Crew:
    """The crew of a contract's protocol between roles, made once for each contract."""
    choreography = compile_choreography(contract, protocol)
    crew = contract.kept.get(("crew", choreography.name))
    if not isinstance(crew, Crew):
        crew = contract.kept.setdefault(("crew", choreography.name), Crew(choreography, contract))
    assert isinstance(crew, Crew)  # noqa: S101 - for the type checker
    return crew
