"""What a violation is made from: where and why an event was refused.

Everything in a refusal is immutable, so what a violation says is worked out when somebody asks. Most violations are
only looked at for being one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from accord.monitor.verdicts import CLOSING

if TYPE_CHECKING:
    from accord.language.values import Frozen
    from accord.machine.events import Event
    from accord.machine.extent import Missed
    from accord.machine.paths import Fits
    from accord.machine.rules import RuleNode
    from accord.machine.stages import Stage
    from accord.machine.standing import Standing

__all__ = ["Refusal"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Where and why an event was refused.

    `event` is `None` for closing and for time that passes; `rule` is the rule that refused, `None` if the protocol did;
    `reasons` say why, where the label was right and the data was not; `fits` says which patterns of the rules the event
    fitted. Where a contract has slices or deadlines, `words` were legal, `instance` is where the event's instance of a
    sliced protocol stood, `keys` are those of the instances it is about, `missed` is what was due before, and `instead`
    is what happened if it was no event.
    """

    stage: Stage
    event: Event | None
    reasons: tuple[str, ...] = ()
    rule: RuleNode | None = None
    fits: Fits | None = None
    words: tuple[str, ...] | None = None
    instance: Standing | None = None
    keys: tuple[Frozen, ...] = ()
    missed: tuple[Missed, ...] = ()
    instead: str = CLOSING

    @property
    def standing(self) -> Standing:
        """Where the protocol stood, or its instance."""
        return self.stage.standing if self.instance is None else self.instance

    @property
    def expected(self) -> tuple[str, ...]:
        """The words that were legal, sorted."""
        return self.stage.allowed if self.words is None else self.words

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
