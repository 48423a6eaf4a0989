"""The six forms of rules: how each of them goes from state to state.

`form_of` compiles the body of a rule: it tells the rule's machine which patterns to look for and which messages to
count, and returns the form, which steps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from accord.diagnostics.visible import clip
from accord.language.details import print_pattern
from accord.language.rules import After, AfterForbid, AtMost, Before, Combination, Happened, Within
from accord.machine.clocks import print_time
from accord.machine.conditions import compile_condition

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from accord.language.rules import Pattern, RuleBody
    from accord.language.tree import Direction
    from accord.machine.clocks import Time
    from accord.machine.conditions import Outcome
    from accord.machine.rules import RuleMachine

__all__ = ["Form", "RuleState", "form_of"]


class RuleState(NamedTuple):
    """Everything a rule remembers of a session."""

    called: int = 0
    counts: tuple[int, ...] = ()
    extra: int = 0
    due: Time | None = None
    """Until when what the rule requires must have happened."""


def _times(number: int) -> str:
    return {0: "not once", 1: "once", 2: "twice"}.get(number, f"{number} times")


class Form(ABC):
    """What the six forms of rules have in common."""

    trigger: int
    """The pattern without which the rule has nothing to say."""
    answers: Sequence[int] = ()
    """Patterns that settle what is owed, beside those a condition counts."""
    adjacent_links = False
    """Whether it matters what comes at once after what."""

    most_extra: int | None = 0
    """How far `extra` can go; `None` if there is no end to it."""
    only_owes = False
    """Whether what has happened says only what is owed, and never what is refused."""

    def __init__(self, machine: RuleMachine) -> None:
        self.machine = machine

    @abstractmethod
    def step(self, state: RuleState, direction: Direction, outcomes: tuple[Outcome, ...], at: Time) -> RuleState | None:
        """The state after an event, `None` if it is refused."""

    def lacks(self, _state: RuleState, _outcomes: tuple[Outcome, ...], _growing: Collection[int]) -> float:
        """How many messages at the least have to arrive before an event that is refused is not; `inf` if none help.

        The messages are those that the atoms in `growing` count. Most forms never take back what they refuse.
        """
        return inf

    @abstractmethod
    def describe(self, state: RuleState) -> str:
        """What has happened so far that matters to the rule, in words."""

    def is_untouched(self, _state: RuleState) -> bool:
        """Whether nothing has happened that its condition counts."""
        return False

    def seen(self, state: RuleState, since: str) -> str:
        """How often each message of the condition has happened."""
        parts = []
        for atom, count in zip(self.machine.atoms, state.counts, strict=True):
            name = f"`{clip(print_pattern(self.machine.patterns[atom.pattern]))}`"
            often = "not happened" if not count else "happened" if atom.most == 1 else f"happened {_times(count)}"
            parts.append(f"{name} has {often}")
        return f"{since}{', '.join(dict.fromkeys(parts))}"

    def owes(self, _state: RuleState) -> bool:
        """Whether something is owed at closing."""
        return False

    def awaited(self, state: RuleState) -> str:
        """What has happened of what is due, in words."""
        return self.describe(state)

    def armed(self, _state: RuleState, _direction: Direction) -> bool:
        """Whether the next event of that direction matters whatever it is."""
        return False

    def late(self, state: RuleState) -> RuleState:
        """The state after its time was over."""
        return state

    def may_be_in(self, state: RuleState) -> bool:
        """Whether `extra` and `due` are what this form makes of them."""
        return state.due is None and (self.most_extra is None or state.extra <= self.most_extra)


class _BeforeForm(Form):
    def __init__(self, machine: RuleMachine, body: Before) -> None:
        super().__init__(machine)
        self.trigger = machine.add_pattern(body.trigger)
        self.holds, self._lacks, _ = compile_condition(machine, body.condition)
        self.each = body.each
        self.none = (0,) * len(machine.atoms)

    def step(self, state: RuleState, direction: Direction, outcomes: tuple[Outcome, ...], at: Time) -> RuleState | None:
        del direction, at
        fits = outcomes[self.trigger]
        if fits is None or (fits and not self.holds(state.counts)):
            return None
        counts = self.none if fits and self.each else self.machine.counted(state, outcomes)
        return state._replace(counts=counts)

    def lacks(self, state: RuleState, outcomes: tuple[Outcome, ...], growing: Collection[int]) -> float:
        return inf if outcomes[self.trigger] is None else self._lacks(state.counts, growing, True)  # noqa: FBT003 - it is to hold

    def is_untouched(self, state: RuleState) -> bool:
        return state.counts == self.none

    def describe(self, state: RuleState) -> str:
        return self.seen(state, "since the last one, " if self.each else "")


class _AfterForm(Form):
    """`extra` is 1 once the trigger has happened."""

    most_extra = 1
    only_owes = True

    def __init__(self, machine: RuleMachine, body: After) -> None:
        super().__init__(machine)
        self.trigger = machine.add_pattern(body.trigger)
        self.holds = compile_condition(machine, body.condition).holds
        self.none = (0,) * len(machine.atoms)
        # What has happened has happened: a condition without `not` and `at most` holds from then on, as if nothing
        # had been owed.
        self.lasting = not any(atom.negative for atom in machine.atoms)

    def step(self, state: RuleState, direction: Direction, outcomes: tuple[Outcome, ...], at: Time) -> RuleState | None:
        del direction, at
        fits = outcomes[self.trigger]
        if fits is None:
            return None
        if fits:
            return state._replace(counts=self.none, extra=1)
        if not state.extra:
            return state
        counts = self.machine.counted(state, outcomes)
        if self.lasting and self.holds(counts):
            return state._replace(counts=self.none, extra=0)
        return state._replace(counts=counts)

    def owes(self, state: RuleState) -> bool:
        return state.extra == 1 and not self.holds(state.counts)

    def describe(self, state: RuleState) -> str:
        return self.seen(state, "since then, ") if state.extra else "nothing is owed so far"


class _AfterEachForm(Form):
    """`extra` is how many are owed."""

    most_extra = None
    only_owes = True

    def __init__(self, machine: RuleMachine, body: After) -> None:
        super().__init__(machine)
        self.trigger = machine.add_pattern(body.trigger)
        single = body.condition if isinstance(body.condition, Combination) else Combination("any", (body.condition,))
        self.answers = [machine.add_pattern(c.pattern) for c in single.conditions if isinstance(c, Happened)]

    def step(self, state: RuleState, direction: Direction, outcomes: tuple[Outcome, ...], at: Time) -> RuleState | None:
        del direction, at
        fits = outcomes[self.trigger]
        if fits is None:
            return None
        answered = state.extra > 0 and any(outcomes[answer] for answer in self.answers)
        return state._replace(extra=state.extra - answered + bool(fits))

    def owes(self, state: RuleState) -> bool:
        return state.extra > 0

    def describe(self, state: RuleState) -> str:
        return f"{state.extra or 'none'} still to come"


class _AfterForbidForm(Form):
    """`extra` is 1 once the trigger has happened."""

    most_extra = 1

    def __init__(self, machine: RuleMachine, body: AfterForbid) -> None:
        super().__init__(machine)
        self.trigger = machine.add_pattern(body.trigger)
        self.forbidden = machine.add_pattern(body.forbidden)

    def step(self, state: RuleState, direction: Direction, outcomes: tuple[Outcome, ...], at: Time) -> RuleState | None:
        del direction, at
        starts, forbidden = outcomes[self.trigger], outcomes[self.forbidden]
        if starts is None or forbidden is None or (forbidden and state.extra):
            return None
        return state._replace(extra=1) if starts else state

    def describe(self, state: RuleState) -> str:
        return (
            f"`{clip(print_pattern(self.machine.patterns[self.trigger]))}` has {'' if state.extra else 'not '}happened"
        )


class _AtMostForm(Form):
    """`extra` is how many there were."""

    def __init__(self, machine: RuleMachine, body: AtMost) -> None:
        super().__init__(machine)
        self.trigger = machine.add_pattern(body.pattern)
        self.number = self.most_extra = body.number

    def step(self, state: RuleState, direction: Direction, outcomes: tuple[Outcome, ...], at: Time) -> RuleState | None:
        del direction, at
        fits = outcomes[self.trigger]
        if fits is None or (fits and state.extra >= self.number):
            return None
        return state._replace(extra=state.extra + 1) if fits else state

    def describe(self, state: RuleState) -> str:
        return f"it has happened {_times(state.extra)}" if state.extra else "it has not happened"


class _WithinForm(Form):
    """`due` is until when the oldest open trigger must be answered; there is none if nothing is open."""

    def __init__(self, machine: RuleMachine, body: Within) -> None:
        super().__init__(machine)
        self.trigger = machine.add_pattern(body.trigger)
        self.holds = compile_condition(machine, body.condition).holds
        self.none = (0,) * len(machine.atoms)
        self.milliseconds = body.milliseconds

    def step(self, state: RuleState, direction: Direction, outcomes: tuple[Outcome, ...], at: Time) -> RuleState | None:
        del direction
        fits = outcomes[self.trigger]
        if fits is None:
            return None
        due, counts = state.due, state.counts
        if due is not None:
            counts = self.machine.counted(state, outcomes)
            if self.holds(counts):
                due, counts = None, self.none
        if fits and due is None:
            due, counts = at + self.milliseconds / 1000, self.none
        return state._replace(counts=counts, due=due)

    def owes(self, state: RuleState) -> bool:
        return state.due is not None

    def late(self, state: RuleState) -> RuleState:
        return state._replace(counts=self.none, due=None)

    def may_be_in(self, state: RuleState) -> bool:
        return state.extra == 0 and (state.due is not None or state.counts == self.none)

    def describe(self, state: RuleState) -> str:
        if state.due is None:
            return "nothing is due"
        return f"it is due until {print_time(state.due)}; {self.awaited(state)}"

    def awaited(self, state: RuleState) -> str:
        return self.seen(state, f"since `{clip(print_pattern(self.machine.patterns[self.trigger]))}`, ")


class _SequenceForm(Form):
    """`extra` has three bits for each beginning of the sequence.

    They say that it has been seen at all, that its last message is the latest one sent, and that it is the latest one
    received.
    """

    EVER, SENT, RECEIVED = 1, 2, 4

    def __init__(self, machine: RuleMachine, patterns: tuple[Pattern, ...], adjacent: tuple[bool, ...]) -> None:
        super().__init__(machine)
        self.patterns = [machine.add_pattern(pattern) for pattern in patterns]
        self.trigger = self.patterns[0]
        self.adjacent = adjacent
        self.adjacent_links = any(adjacent)
        self.most_extra = 8 ** len(adjacent) - 1

    def step(self, state: RuleState, direction: Direction, outcomes: tuple[Outcome, ...], at: Time) -> RuleState | None:
        del at
        fits = [outcomes[pattern] for pattern in self.patterns]
        if None in fits:
            return None
        latest = self.SENT if direction == "!" else self.RECEIVED
        extra = 0
        reached = True  # the beginning of no messages is always there
        for length, link in enumerate(self.adjacent):
            bits = state.extra >> (3 * length) & 7
            now = bool(fits[length]) and reached
            # What the next message of the sequence may build on: this beginning, as it was before this event.
            reached = bool(bits & (latest if link else self.EVER))
            kept = bits & ~latest
            extra |= (kept | (self.EVER | latest if now else 0)) << (3 * length)
        if fits[-1] and reached:
            return None
        return state._replace(extra=extra)

    def lacks(self, _state: RuleState, outcomes: tuple[Outcome, ...], _growing: Collection[int]) -> float:
        return inf if None in [outcomes[pattern] for pattern in self.patterns] else 0  # something may come between

    def armed(self, state: RuleState, direction: Direction) -> bool:
        latest = self.SENT if direction == "!" else self.RECEIVED
        return any(state.extra >> (3 * length) & latest and link for length, link in enumerate(self.adjacent))

    def describe(self, state: RuleState) -> str:
        return "the beginning of the sequence has happened" if state.extra else "nothing of the sequence has happened"


def form_of(machine: RuleMachine, body: RuleBody) -> Form:
    """The form of a rule, compiled into its machine."""
    if isinstance(body, Before):
        return _BeforeForm(machine, body)
    if isinstance(body, After):
        return _AfterEachForm(machine, body) if body.each else _AfterForm(machine, body)
    if isinstance(body, AfterForbid):
        return _AfterForbidForm(machine, body)
    if isinstance(body, AtMost):
        return _AtMostForm(machine, body)
    if isinstance(body, Within):
        return _WithinForm(machine, body)
    return _SequenceForm(machine, body.patterns, body.adjacent)
