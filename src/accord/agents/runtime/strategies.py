"""Whom a supervisor starts again, and when it gives up: pure functions of who crashed and when."""

from __future__ import annotations

from typing import Literal, get_args

from accord.errors import UsageError

__all__ = ["Strategy", "check_strategy", "recent", "to_restart"]

Strategy = Literal["one_for_one", "one_for_all", "rest_for_one"]


def check_strategy(strategy: object) -> Strategy:
    """The strategy; `UsageError` if there is none of that name."""
    if strategy not in get_args(Strategy):
        listed = ", ".join(f"`{name}`" for name in get_args(Strategy))
        raise UsageError(f"a strategy is one of {listed}, got {strategy!r}")
    return strategy  # type: ignore[return-value] # it is one


def to_restart(strategy: Strategy, names: list[str], crashed: str) -> list[str]:
    """The agents to start again when one has crashed, in the order in which they were added.

    Example:
        >>> to_restart("rest_for_one", ["a", "b", "c"], "b")
        ['b', 'c']
    """
    if strategy == "one_for_one":
        return [crashed]
    return list(names) if strategy == "one_for_all" else names[names.index(crashed) :]


def recent(crashes: tuple[float, ...], now: float, within: float) -> tuple[float, ...]:
    """The times of the crashes that still count, with the one of now."""
    return (*[time for time in crashes if now - time <= within], now)
