"""The part that a role has in a protocol: what it may do in each state of its own machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import Source, Span
from accord.language.global_tree import CRASH
from accord.language.labels import print_label
from accord.machine.ahead import ahead
from accord.machine.tables import Plain, Symbol

if TYPE_CHECKING:
    from accord.agents.check.contracts import Compiled

__all__ = ["Script"]


class Script:
    """What a role may do in each state of its own machine, asked by label and partner."""

    def __init__(self, compiled: Compiled, protocol: str, role: str) -> None:
        self.compiled = compiled
        self.protocol = protocol
        self.role = role
        choreography = compiled.choreographies[protocol]
        machine = choreography.machines[role]
        self.identity = (id(compiled), protocol)
        """What two agents share if they follow the same protocol."""
        self.roles = choreography.roles
        self._global = choreography.machine
        self.sends: list[dict[tuple[str, str], int]] = []
        self.receives: list[dict[tuple[str, str], int]] = []
        self.stops: list[bool] = []
        self._crashing: set[int] = set()
        for position, state in enumerate(machine.states):
            edges = state.edges if isinstance(state, Plain) else ()
            by_direction: dict[str, dict[tuple[str, str], int]] = {"!": {}, "?": {}}
            for number, target in edges:
                symbol = machine.symbols[number]
                if symbol.direction == "!" and symbol.label == CRASH:
                    self._crashing.add(position)
                    continue  # nobody sends it: the run time tells the others
                by_direction[symbol.direction][symbol.label, symbol.partner or ""] = target
            self.sends.append(by_direction["!"])
            self.receives.append(by_direction["?"])
            self.stops.append(state.stop is not None)
        self.sent = frozenset(key for moves in self.sends for key in moves)
        self.received = frozenset(key for moves in self.receives for key in moves)
        self.ahead = ahead(machine)

    def received_before(self, state: int) -> list[str]:
        """The messages after which the role is in a state, if it is only so after messages."""
        return sorted({label for moves in self.receives for (label, _), target in moves.items() if target == state})

    def partners_ahead(self, state: int) -> set[str]:
        """Everybody with whom the role can still have to do."""
        seen, todo = {state}, [state]
        found: set[str] = set()
        while todo:
            here = todo.pop()
            for (_, partner), target in [*self.sends[here].items(), *self.receives[here].items()]:
                found.add(partner)
                if target not in seen:
                    seen.add(target)
                    todo.append(target)
        return found

    @property
    def notes_crashes(self) -> bool:
        """Whether the protocol says, anywhere, what comes if the role crashes: then no message is delivered again."""
        return any(sender == self.role and label == CRASH for sender, _, label in self._global.messages)

    def crash_is_handled(self, state: int) -> bool:
        """Whether the protocol says what comes if the role crashes in a state."""
        return state in self._crashing

    def is_taken(self, state: int, labels: tuple[str, ...]) -> bool:
        """Whether one who waits for these messages gets one, whatever the partners do.

        He does if no other message can come instead: from the same partner, or one that has no place afterwards.
        """
        wanted = [key for key in self.receives[state] if key[0] in labels]
        for label, partner in self.receives[state]:
            if label not in labels and not any(
                sender != partner and Symbol("?", label, partner) in self.ahead[self.receives[state][word, sender]]
                for word, sender in wanted
            ):
                return False
        return bool(wanted)

    def others(self, state: int, labels: tuple[str, ...]) -> list[tuple[str, str]]:
        """What else can come in a state."""
        return [key for key in self.receives[state] if key[0] not in labels]

    def is_over(self, state: int) -> bool:
        """Whether nothing more can happen."""
        return not self.sends[state] and not self.receives[state]

    def owes(self, state: int) -> bool:
        """Whether the conversation waits for this role, and for nobody else."""
        return bool(self.sends[state]) and not self.receives[state] and not self.stops[state]

    def step_of(self, label: str) -> str:
        """The step at which the role sends a message, if it ever does."""
        partners = [partner for word, partner in sorted(self.sent) if word == label]
        return self.step(label, partners[0], sending=True) if partners else ""

    def step(self, label: str, partner: str, *, sending: bool) -> str:
        """The step as it stands in the protocol, and where."""
        message = (self.role, partner, label) if sending else (partner, self.role, label)
        text = f"`{message[0]} -> {message[1]}: {print_label(label)}`"
        source = self.compiled.document.source if self.compiled.document is not None else Source("")
        for node in self._global.nodes:
            if self._global.messages[node.message] == message and node.span != Span(0, 0):
                line = source.line_and_column(node.span.start)[0] + self.compiled.line - 1
                return f"{text} ({source.name}:{line})"
        return text
