"""What a violation is made from: where and why an event was refused.

Everything in a refusal is immutable, so what a violation says is worked out when somebody asks. Most violations are
only looked at for being one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from accord.monitor.verdicts import CLOSING

if TYPE_CHECKING:
    from accord.machine.paths import Fits
    from accord.machine.rules import RuleNode
    from accord.machine.stages import Stage
    from accord.monitor.events import Event

__all__ = ["Refusal"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Where and why an event was refused.

    `event` is `None` for closing; `rule` is the rule that refused, `None` if the protocol did; `reasons` say why, where
    the label was right and the data was not; `fits` says which patterns of the rules the event fitted.
    """

    stage: Stage
    event: Event | None
    reasons: tuple[str, ...] = ()
    rule: RuleNode | None = None
    fits: Fits | None = None

    @property
    def expected(self) -> tuple[str, ...]:
        """The words that were legal, sorted."""
        return self.stage.allowed

    @property
    def got(self) -> str:
        """What happened instead."""
        return CLOSING if self.event is None else self.event.word

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
        return self.stage.standing.number

    @property
    def explanation(self) -> str:
        """A sentence fit to be read back to a model."""
        from accord.monitor.explain import explain  # noqa: PLC0415 - loaded when somebody asks

        return explain(self)
