"""Random protocols between roles, projected, and their roles let loose: the campaign behind `test_choreography`.

Of every protocol the machine is walked beside the reference: what can come next, and whether it is over, is the same.
Of every protocol that is accepted, the projections are run with channels between them, by chance, and what they did is
held against the reference: they are never stuck, and some run of the protocol fits what every role has seen. Of every
protocol that is refused, the two runs that are shown are checked: they are runs, they look alike, and they ask
different things of the role.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from accord.choreography import implementability, views, witnesses
from accord.choreography.compiler import compile_global
from accord.choreography.compiling import compile_contract
from accord.choreography.tables import GlobalMachine
from accord.choreography.writing import local_protocol
from accord.errors import ContractError
from accord.language.checks import check_document
from accord.language.global_firsts import Shapes
from accord.language.tree import Document
from accord.limits import DEFAULT_LIMITS, Limits
from accord.machine.configurations import may_end
from accord.machine.minimise import minimise
from accord.machine.standing import Standings
from accord.machine.tables import Machine, Plain
from accord.semantics.exchanges import TooLongError, agrees, begin, exchanges, is_over
from tests.census import Census
from tests.properties.generate_globals import cells, census, random_global
from tests.properties.playing import deeds, observed, parts_of, played

LONGEST_WALK = 16


@dataclass
class Seen:
    """What a campaign came across."""

    protocols: int = 0
    followed: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    undecided: int = 0
    deeds: int = 0
    endings: int = 0
    given_up: int = 0
    attempts: int = 0
    accepted: int = 0
    unplayed: int = 0
    made: Census = field(default_factory=lambda: census("choreographies, all", parts=False))
    walked: Census = field(default_factory=lambda: census("choreographies, followed", parts=False))

    deeds_in_sessions: Census = field(default_factory=lambda: deeds(parts=False))

    @property
    def is_full(self) -> bool:
        """Whether all tables are."""
        return not any(table.lacking(floor) for table, floor in self.floors())

    def floors(self) -> Iterator[tuple[Census, int]]:
        """Each table with its floor."""
        yield self.deeds_in_sessions, max(5, self.protocols // 1_000)
        yield self.made, max(5, self.protocols // 1_000)
        yield self.walked, max(2, self.protocols // 5_000)

    def check_floors(self) -> None:
        for table, floor in self.floors():
            table.check(floor)
        assert self.followed * 5 >= self.protocols, "too few protocols can be followed"
        assert all(self.refused.get(kind, 0) * 300 >= self.protocols for kind in ("send", "receive", "both"))
        assert self.endings * 6 >= self.followed
        assert self.given_up * 1_000 <= self.protocols
        assert self.attempts // 5 < self.accepted < self.attempts
        assert self.unplayed * 20 <= self.followed

    def sentence(self) -> str:
        refused = ", ".join(f"{count:,} ({kind})" for kind, count in sorted(self.refused.items()))
        return (
            f"choreographies: {self.protocols:,} random ones, {self.followed:,} followed in {self.deeds:,} deeds "
            f"to {self.endings:,} endings, {self.accepted:,} of {self.attempts:,} attempts accepted by sessions; "
            f"refused {refused}, not decided {self.undecided:,}\n"
            f"{self.made.table()}\n{self.walked.table()}\n{self.deeds_in_sessions.table()}"
        )


def campaign(seed: int, protocols: int, *, parts: bool = False) -> tuple[Seen, str | None]:
    """What was seen, and the first difference from the reference, in words.

    It goes on for longer, up to twice as long, where something was hardly seen so far.
    """
    rng, making = Random(seed), Random(f"{seed} made")
    seen = Seen()
    if parts:
        seen.made, seen.walked = (
            census("choreographies, all", parts=True),
            census("choreographies, followed", parts=True),
        )
        seen.deeds_in_sessions = deeds(parts=True)
    while seen.protocols < protocols or (seen.protocols < 2 * protocols and not seen.is_full):
        document = random_global(making, parts=parts)
        seen.protocols += 1
        seen.made.add(cells(document))
        try:
            difference = judge(document, rng, seen)
        except TooLongError:
            seen.given_up += 1
            continue
        if difference is not None:
            return seen, f"{difference}: {document}"
    return seen, None


def judge(document: Document, rng: Random, seen: Seen) -> str | None:
    """The difference one protocol shows."""
    if rng.random() < 0.02 and any(finding.severity == "error" for finding in check_document(document, DEFAULT_LIMITS)):
        raise AssertionError(f"the generator made what is not well-formed: {document}")
    machine = machine_for(document)
    if machine is not None:
        difference = side_by_side(document, machine, rng)
        if difference is not None:
            return difference
    if machine is None or (machine.has_parts and implementability.shared_channel(machine) is not None):
        seen.undecided += 1
        return None
    seen_by = {role: views.view_of(machine, role, 10_000) for role in machine.roles}
    doubts = [(view, implementability.doubts_of(view, machine, 100_000)) for view in seen_by.values()]
    for view, found in doubts:
        if found:
            shown = witnesses.witness_of(found, view, machine, 1_000_000)
            if shown is None:
                return "no runs are shown"
            seen.refused[shown[0].kind] = seen.refused.get(shown[0].kind, 0) + 1
            return doubt_is_real(*shown, machine, document)
    seen.followed += 1
    seen.walked.add(cells(document))
    machines = {role: views.machine_of(view, machine) for role, view in seen_by.items()}
    return (
        walk(document, machines, rng, seen)
        or run_from_above(document, machines, rng)
        or in_session(document, rng, seen)
    )


def in_session(document: Document, rng: Random, seen: Seen) -> str | None:
    """What a session of all roles says otherwise than the reference."""
    try:
        contract = compile_contract(document)
    except ContractError:
        seen.unplayed += 1  # what is done could not be followed by itself
        return None if len(document.globals) > 1 else "compiling refuses it"
    difference, accepted, tried = rng.choice((played, observed))(rng, document, contract, seen.deeds_in_sessions)
    seen.accepted += accepted
    seen.attempts += tried
    return difference


def side_by_side(document: Document, machine: GlobalMachine, rng: Random) -> str | None:
    """A run by chance, on the machine and on the reference: the same can come next, and they are over together."""
    protocol, protocols = parts_of(document)
    places, states, run = {begin(protocol)}, {0}, []
    for _ in range(LONGEST_WALK):
        options = [move for place in places for move in exchanges(place, protocols)]
        moves = [(machine.messages[move.message], move.target) for state in states for move in machine.moves[state]]
        mine, theirs = {message for message, _ in moves}, {move.message for move in options}
        if mine != theirs:
            return f"after {run} the machine can do {sorted(mine)}, the reference {sorted(theirs)}"
        if any(machine.stops[state] == "end" for state in states) != any(map(is_over, places)):
            return f"after {run} only one of machine and reference is over"
        if not theirs:
            break
        message = rng.choice(sorted(theirs))
        run.append(message)
        places = {move.after for move in options if move.message == message}
        states = {target for found, target in moves if found == message}
    return None


# -- accepted: the roles on their own ----------------------------------------------------------------------------------


def walk(document, machines, rng: Random, seen: Seen) -> str | None:
    """Let the roles do what their machines allow, by chance, and compare."""
    protocol, protocols = parts_of(document)
    states = dict.fromkeys(machines, 0)
    channels: dict[tuple[str, str], list[str]] = {}
    histories: dict[str, list] = {role: [] for role in machines}
    for _ in range(LONGEST_WALK):
        options = [
            (role, machine.symbols[number], target)
            for role, machine in machines.items()
            for number, target in machine.states[states[role]].edges
            if machine.symbols[number].direction == "!"
            or channels.get((machine.symbols[number].partner, role), [None])[0] == machine.symbols[number].label
        ]
        if not options:
            break
        role, symbol, target = rng.choice(options)
        states[role] = target
        histories[role].append((symbol.direction, symbol.partner, symbol.label))
        if symbol.direction == "!":
            channels.setdefault((role, symbol.partner), []).append(symbol.label)
        else:
            queue = channels[symbol.partner, role]
            del queue[0]
            if not queue:
                del channels[symbol.partner, role]
        seen.deeds += 1
    else:
        done = {role: tuple(deeds) for role, deeds in histories.items()}
        return None if agrees(protocol, protocols, done) else f"no run fits {done}"
    done = {role: tuple(deeds) for role, deeds in histories.items()}
    if channels or any(machines[role].states[state].stop != "end" for role, state in states.items()):
        return f"stuck with {channels} after {done}"
    seen.endings += 1
    if not agrees(protocol, protocols, done, complete=True):
        return f"over, although the protocol is not, after {done}"
    return None


def run_from_above(document, machines, rng: Random) -> str | None:
    """A random run of the protocol, which every role must be able to take its part in."""
    protocol, protocols = parts_of(document)
    place = begin(protocol)
    states = dict.fromkeys(machines, 0)
    for _ in range(LONGEST_WALK):
        options = exchanges(place, protocols)
        if not options:
            break
        (sender, receiver, label), _, place = rng.choice(options)
        for role, direction, partner in ((sender, "!", receiver), (receiver, "?", sender)):
            machine = machines[role]
            after = [
                target
                for number, target in machine.states[states[role]].edges
                if machine.symbols[number][:3] == (direction, label, partner)
            ]
            if not after:
                return f"{role} cannot take part in {sender} -> {receiver}: {label}"
            states[role] = after[0]
    if is_over(place) and any(machines[role].states[state].stop != "end" for role, state in states.items()):
        return "a role may not stop where the protocol is over"
    return None


# -- refused: the two runs ---------------------------------------------------------------------------------------------


def doubt_is_real(doubt, witness, machine, document) -> str | None:  # noqa: PLR0911 - one for each thing to check
    """What is wrong with the two runs that are shown."""
    left = [machine.messages[machine.nodes[node].message] for node in witness.left]
    right = [machine.messages[machine.nodes[node].message] for node in witness.right]
    places = [places_after(document, left), places_after(document, right)]
    if not all(places):
        return f"no run: {left} / {right}"
    role = doubt.role
    alike = [view_of(role, left[: witness.seen_left]), view_of(role, right[: witness.seen_right])]
    if alike[0] != alike[1]:
        return f"{role} can tell them apart: {left} / {right}"
    message = machine.messages[doubt.message]
    if left[witness.seen_left :] != [message]:
        return "the first run does not come to the message"
    if doubt.kind == "send":
        if message[0] != role or len(right) != witness.seen_right:
            return "the runs do not show what they should"
        if message in next_deeds(role, places[1], parts_of(document)[1]):
            return f"{role} can send {message} in both runs: {left} / {right}"
        return None
    other = right[witness.seen_right]
    if other != machine.messages[doubt.other] or other[1] != role:
        return "the second run does not come to the other message"
    if doubt.kind == "both":
        return None if message[0] == role else "it is not the role that sends"
    if message[1] != role or first_under_way(role, message[0], right[witness.seen_right :]) != message[2]:
        return f"{message} cannot be there early: {left} / {right}"
    return None


def places_after(document, run):
    """The places in which the protocol can be after a run."""
    protocol, protocols = parts_of(document)
    places = [begin(protocol)]
    for message in run:
        places = [after for place in places for found, _, after in exchanges(place, protocols) if found == message]
    return places


def view_of(role, run):
    return [message for message in run if role in message[:2]]


def next_deeds(role, places, protocols):
    """The messages that a role can be the next to take part in, if nothing happens that it sees."""
    found, seen, todo = set(), set(places), list(places)
    while todo:
        for message, _, after in exchanges(todo.pop(), protocols):
            if role in message[:2]:
                found.add(message)
            elif after not in seen:
                seen.add(after)
                todo.append(after)
    return found


def first_under_way(role, sender, run):
    """The first message from that sender if the role receives nothing while the run goes on as far as it can."""
    held = {role}
    for who, whom, label in run:
        if who in held:
            held.add(whom)
        elif whom == role and who == sender:
            return label
    return None


def machine_for(document):
    """The machine of a document's first protocol; `None` if its parts are too many to multiply."""
    try:
        return compile_global(document.globals[0], document, Shapes(document.globals), Limits(configurations=300))
    except ContractError:
        return None


def followed(document):
    """The projections of a document's first protocol as trees, or `None` if it is refused."""
    machine = machine_for(document)
    if machine is None or (machine.has_parts and implementability.shared_channel(machine) is not None):
        return None
    seen_by = [views.view_of(machine, role, 10_000) for role in machine.roles]
    if any(implementability.doubts_of(view, machine, 100_000) for view in seen_by):
        return None
    return {
        view.role: local_protocol(views.machine_of(view, machine), views.parts_of(machine, view.role))
        for view in seen_by
    }


def unfolded(machine: Machine) -> Machine:
    """The machine with its parts multiplied out and without pauses, minimal."""
    standings = Standings(machine, DEFAULT_LIMITS)
    number_of = {standings.start: 0}
    queue = [standings.start]
    symbols = list(machine.symbols)
    states = []
    for standing in queue:
        edges = []
        for symbol in standing.symbols:
            after = standing.follow(symbol.direction, symbol.label, symbol.partner)
            if after not in number_of:
                number_of[after] = len(queue)
                queue.append(after)
            edges.append((symbols.index(symbol), number_of[after]))
        over = any(may_end(machine, configuration) for configuration in standing.configurations)
        states.append(Plain(tuple(edges), "end" if over else None))
    return minimise(Machine(tuple(symbols), tuple(states)))
