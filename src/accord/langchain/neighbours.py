"""The agent that a middleware is for: the others in its list, what cannot be right about them, and its tools.

LangChain has no hook in which a middleware sees that. While `create_agent` makes an agent it asks each of them for its
tools, so whoever is asked finds the rest a few steps further up. Where it cannot be found, as when a graph is put
together in another way, nothing is said here; nothing runs that was not judged, whatever the order.
"""

from __future__ import annotations

import sys
import warnings
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from langchain.agents.middleware import HumanInTheLoopMiddleware

from accord.errors import OrderWarning, UsageError
from accord.monitor.wording import quote_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

    from accord.langchain.hooks import GuardingMiddleware

__all__ = ["Making", "check_keys", "check_order", "in_the_making"]

_STEPS = 6
"""How far up the list may be: LangChain asks in a comprehension, and one of ours in a method."""


class Making(NamedTuple):
    """What an agent is made of: its middlewares in their order, and tools as LangChain takes them."""

    middleware: Sequence[Any] = ()
    tools: Sequence[Any] = ()


def in_the_making() -> Making:
    """The agent that is being made; of nothing, if none is."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - there is no other way to see it
    for _ in range(_STEPS):
        if frame is None:
            break
        if frame.f_code.co_name == "create_agent":
            given = frame.f_locals
            return Making(list(given.get("middleware") or ()), list(given.get("tools") or ()))
        frame = frame.f_back
    return Making()


def check_keys(names: Sequence[str], keys: Sequence[frozenset[str]]) -> None:
    """`UsageError` if two middlewares of ours keep something under one key; their names, and the keys of each."""
    for (one, of_one), (other, of_other) in combinations(zip(names, keys, strict=True), 2):
        shared = of_one & of_other
        if shared:
            raise UsageError(
                f"{one} and {other} of one agent both keep {quote_text(min(shared, key=len))} in its state; "
                'give one of them another name, as in name="billing"'
            )


def check_order(listed: Sequence[Any], ours: Sequence[GuardingMiddleware]) -> None:
    """`OrderWarning` if what people change in `HumanInTheLoopMiddleware` can never run.

    It is judged if that one asks about the whole batch before ours decide, and so stands behind them.
    """
    for place, human in enumerate(listed):
        if not isinstance(human, HumanInTheLoopMiddleware):
            continue
        is_batched = getattr(human, "interrupt_mode", "batched") == "batched"
        too_early = [each for each in ours if not is_batched or each in listed[place:]]
        for tool, config in human.interrupt_on.items():
            deaf = [each for each in too_early if each.enforces(tool)]
            if deaf and "edit" in config["allowed_decisions"]:
                how = (
                    f"list it behind {deaf[-1].name}" if is_batched else 'ask with interrupt_mode="batched", behind it'
                )
                warnings.warn(
                    f"a call of {quote_text(tool)} that a person edits in {human.name} will not run, because "
                    f"{deaf[-1].name} has decided about it before; {how}, or do not allow `edit` there",
                    OrderWarning,
                    stacklevel=5,
                )
                break
