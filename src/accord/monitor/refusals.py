"""What a violation is made from: where and why an event was refused.

Everything in a refusal is immutable, so what a violation says is worked out when somebody asks. Most violations are
only looked at for being one. A payload belongs to the caller and may change, so what depends on it is found at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from accord.errors import UsageError
from accord.machine.slices import NO_KEY, NoKey, key_of
from accord.monitor.verdicts import CLOSING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.language.clauses import Path
    from accord.language.values import Frozen
    from accord.machine.clocks import Time
    from accord.machine.events import Event
    from accord.machine.extent import Extent, Missed
    from accord.machine.paths import Fits
    from accord.machine.rulebook import RuleNodes
    from accord.machine.rules import RuleNode
    from accord.machine.stages import Stage
    from accord.machine.standing import Standing
    from accord.machine.tables import Symbol
    from accord.monitor.vocabulary import Vocabulary

__all__ = ["NOWHERE", "Belonging", "Refusal", "belonging", "unknown_call"]


@dataclass(frozen=True, slots=True)
class Belonging:
    """The keys of an event: that for a sliced protocol, and that for each sliced rule."""

    protocol: Frozen | NoKey = NO_KEY
    rules: tuple[Frozen | NoKey, ...] = ()


NOWHERE = Belonging()


def belonging(stage: Stage, event: Event) -> Belonging:
    """To which instances an event belongs."""
    stages = stage.stages

    def key(path: Path) -> Frozen | NoKey:
        try:
            return key_of(path, event.direction, event.payload)
        except UsageError:  # no JSON, which whoever has to look at it complains about
            return NO_KEY

    protocol = NO_KEY if stages.sliced is None else key(stages.sliced.path)
    return Belonging(protocol, tuple([key(rule.path) for rule in stages.sliced_rules]))


@dataclass(frozen=True, slots=True)
class Refusal:
    """Where and why an event was refused.

    `event` is `None` for closing and for time that passes; `rule` is the rule that refused, `None` if the protocol did;
    `reasons` say why, where the label was right and the data was not; `fits` says which patterns of the rules the event
    fitted. Where a contract has slices or deadlines, `extent` is what the session held, `belongs` says to which
    instances the event belonged, `missed` is what was due before, `lapsed` is until when the event would have been in
    time, and `instead` is what happened if it was no event. `tools` are those that a guard has given labels.
    """

    stage: Stage
    event: Event | None
    reasons: tuple[str, ...] = ()
    rule: RuleNode | None = None
    fits: Fits | None = None
    extent: Extent | None = None
    belongs: Belonging = NOWHERE
    missed: tuple[Missed, ...] = ()
    lapsed: Time | None = None
    instead: str = CLOSING
    tools: Mapping[str, tuple[str, ...]] | None = None

    @property
    def now(self) -> Time:
        """What time it was."""
        return 0 if self.extent is None or self.extent.now is None else self.extent.now

    @property
    def is_new(self) -> bool:
        """Whether the event would have begun an instance of a sliced protocol."""
        course = self.extent.course if self.extent else None
        key = self.belongs.protocol
        return course is not None and not isinstance(key, NoKey) and key not in course.instances

    @property
    def is_full(self) -> bool:
        """Whether it would have begun an instance too many."""
        course = self.extent.course if self.extent else None
        most = self.stage.standing.standings.limits.instances
        return self.is_new and course is not None and len(course.instances) >= most

    @property
    def standing(self) -> Standing:
        """Where the protocol stood, or the event's instance of it."""
        sliced, key = self.stage.stages.sliced, self.belongs.protocol
        if sliced is None or isinstance(key, NoKey) or self.extent is None or self.extent.course is None:
            return self.stage.standing
        return sliced.instance(self.extent.course, key, self.now)[0]

    @property
    def nodes(self) -> RuleNodes:
        """The state of each rule; of a sliced one, that of the event's instance, or of a new one if it has none."""
        nodes = list(self.stage.rules)
        stages = self.stage.stages
        slices = self.extent.slices if self.extent else ()
        for number, held, key in zip(stages.book.sliced, slices, self.belongs.rules, strict=False):
            node = nodes[number] if isinstance(key, NoKey) else held.instances.get(key, nodes[number])
            nodes[number] = node.machine.node(node.state._replace(called=held.called))
        return tuple(nodes)

    @property
    def options(self) -> list[Symbol]:
        """What was legal, as `expected` says it in words."""
        sliced, course = self.stage.stages.sliced, self.extent.course if self.extent else None
        offered = sliced is not None and course is not None
        symbols = sliced.symbols(course, self.belongs.protocol) if offered else self.stage.standing.symbols  # type: ignore[union-attr, arg-type] # mypy does not see that both are there
        return self.stage.open_of(symbols)

    @property
    def vocabulary(self) -> Vocabulary:
        """How it names what happened and what can happen."""
        from accord.monitor.vocabulary import Vocabulary  # noqa: PLC0415 - loaded when somebody asks

        return Vocabulary(self.stage.stages, self.tools or {})

    @property
    def expected(self) -> tuple[str, ...]:
        """The words that were legal, sorted; of a sliced protocol those of the event's instance."""
        sliced, course = self.stage.stages.sliced, self.extent.course if self.extent else None
        if sliced is None or course is None:
            return self.stage.allowed
        return self.stage.allowed_of(sliced.symbols(course, self.belongs.protocol))

    @property
    def complete(self) -> bool:
        """Whether the session could have ended."""
        return self.stage.complete and not (self.extent is not None and self.extent.owes)

    @property
    def got(self) -> str:
        """What happened instead."""
        return self.instead if self.event is None else self.event.word

    @property
    def contract(self) -> str:
        """The name of the protocol, empty if it has none."""
        return self.stage.standing.standings.machine.name or ""

    @property
    def clause(self) -> str:
        """What in the contract refused."""
        if self.rule is not None:
            return f'rule "{self.rule.machine.rule.name}"'
        return f"protocol {self.contract}" if self.contract else "protocol"

    @property
    def clause_number(self) -> int:
        """Where that clause stands in the contract: 0 is the protocol."""
        return 0 if self.rule is None else 1 + self.stage.stages.book.machines.index(self.rule.machine)

    @property
    def role(self) -> str | None:
        """The role that broke the contract, where the contract has roles."""
        return None

    @property
    def state(self) -> int | str:
        """Where the session stood."""
        return self.standing.number

    @property
    def explanation(self) -> str:
        """A sentence fit to be read back to a model."""
        from accord.monitor.explain import explain  # noqa: PLC0415 - loaded when somebody asks

        return explain(self)

    @property
    def advice(self) -> str:
        """What may happen now, and nothing about the refused event."""
        from accord.monitor.explain import advise  # noqa: PLC0415 - loaded when somebody asks

        return advise(self)


def unknown_call(stage: Stage, event: Event) -> Refusal:
    """Why a call is refused that the events of a contract with a protocol do not name."""
    return Refusal(stage, event.bare, ("the contract's events name no such call",))
