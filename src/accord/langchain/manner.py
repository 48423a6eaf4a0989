"""How a middleware behaves towards models and people, whatever its law."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from accord.errors import UsageError
from accord.trace.redaction import Redaction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["EarlyEnd", "Manner", "check_durable"]

EarlyEnd: TypeAlias = "Literal['note', 'raise'] | Callable[[dict[str, Any]], object]"


class Manner:
    """How a middleware behaves towards models and people, whatever its law."""

    __slots__ = ("answers", "by_id", "durable", "early_end", "hide", "redaction", "reviewer", "tool_errors")

    def __init__(
        self,
        *,
        reviewer: str | None = None,
        hide: bool = True,
        early_end: EarlyEnd = "note",
        tool_errors: Literal["tell", "raise"] = "tell",
        durable: bool = False,
        by_id: bool = False,
        redact: Iterable[str] = (),
        answers: Mapping[str, Any] | None = None,
    ) -> None:
        if reviewer is not None and (not isinstance(reviewer, str) or not reviewer.strip()):
            raise UsageError(f"`reviewer` says who is asked, got {reviewer!r}")
        if early_end not in ("note", "raise") and not callable(early_end):
            raise UsageError(f"`early_end` is `note`, `raise` or a function, got {early_end!r}")
        if tool_errors not in {"tell", "raise"}:
            raise UsageError(f"`tool_errors` is `tell` or `raise`, got {tool_errors!r}")
        self.reviewer = reviewer
        self.hide = hide
        self.early_end = early_end
        self.tool_errors = tool_errors
        self.durable = durable
        self.by_id = by_id
        if answers is not None and not isinstance(answers, Mapping):
            raise UsageError(f'`answers` has a type for each label, such as {{"Approval": Terms}}, got {answers!r}')
        self.answers = answers or {}
        self.redaction = Redaction(redact)


def check_durable(config: Mapping[str, Any]) -> None:
    """`UsageError` unless every step of the graph is kept before the next one begins."""
    if config.get("configurable", {}).get("__pregel_durability") != "sync":
        raise UsageError(
            "the checkpoint with the reservation may not have been kept yet, so no tool runs; "
            'invoke the agent with durability="sync", or do not ask for `durable`'
        )
