"""The short way of a call: nothing else is out, nothing was refused, and the label alone decides.

That is the case for most calls of most agents, and a session in memory then needs no more than the stage it is at: a
call goes out along a link of that stage, and when it returns the session is where the link led. Nothing is made for it
but a list, and no lock is taken: where CPython promises not to come between (see `monitor.atomicity`), a line without a
call happens whole or not at all. Everything else takes the long way, and whoever does first closes the lane.

INVARIANT: a line that reads and writes the lane consists of what is known to run no other code; see `monitor.monitor`.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple

from accord.calling import WHOLE, is_whole
from accord.integrations.guard.holding import Held
from accord.integrations.guard.running import settle
from accord.integrations.guard.tool_events import ToolEvents
from accord.monitor.atomicity import calls_only_switching

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.integrations.guard.homes import MemoryHome
    from accord.integrations.guard.session import LiveSession
    from accord.machine.stages import Links, Stage

__all__ = ["CLOSED", "Lane", "take_lane"]


class _Nowhere(NamedTuple):
    """What stands in a closed lane: no call leads on from it."""

    sends: Links


CLOSED = _Nowhere({})

_NOBODY: list[str | None] = []
"""Who is out in a lane that is closed."""


class Lane:
    """Where a quiet session stands, and the one call that is out on the short way.

    `out` is `None` if there is none. Else it is a list of one thing that belongs to whoever makes the call: the ticket,
    once somebody had to give it one. `call` is what was called, by name and label. What stood in a lane that was closed
    is left here until somebody has it.
    """

    __slots__ = ("at", "call", "left", "left_call", "left_out", "out")

    def __init__(self) -> None:
        self.at: Stage | _Nowhere = CLOSED
        self.out: list[str | None] | None = None
        self.call: tuple[str, str] = ("", "")
        self.left: Stage | _Nowhere = CLOSED
        self.left_out: list[str | None] | None = None
        self.left_call = self.call

    def close(self) -> None:
        """Let no call go this way any more."""
        if self.at is not CLOSED: self.left = self.at; self.left_out = self.out; self.left_call = self.call; self.at = CLOSED; self.out = _NOBODY  # fmt: skip  # noqa: E501, E701, E702


def take_lane(  # noqa: C901 - one function inside, whose lines are counted
    session: LiveSession,
    home: MemoryHome,
    call: tuple[str, str],
    function: Callable[..., Any],
    long_way: Callable[..., Any],
) -> Callable[..., Any]:
    """The function under guard, called on the short way where it can be."""
    if not calls_only_switching():
        return long_way
    lane = home.lane
    tools = session.policy.tools
    labels = tools.plain_labels(call[0]) if isinstance(tools, ToolEvents) else None
    if labels is None:
        return long_way
    label, answer = labels
    releases = tools.failure(*call) == "undone"

    @wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - whatever the function takes
        at = lane.at
        try:
            _, end = at.sends[label]
            if answer is not None:
                _, end = end.receives[answer]
        except KeyError:
            return long_way(*args, **kwargs)
        mine: list[str | None] = [None]
        begun = back = over = False
        value: object = None
        error: BaseException | None = None
        if lane.at is at and lane.out is None: lane.out = mine; lane.call = call; begun = True  # fmt: skip  # noqa: E701, E702
        if not begun:
            return long_way(*args, **kwargs)
        try:
            value = function(*args, **kwargs); back = True  # fmt: skip  # noqa: E702
            whole = type(value) in WHOLE or is_whole(value)
            if whole and lane.out is mine: lane.at = end; lane.out = None; over = True  # fmt: skip  # noqa: E701, E702
        except BaseException as raised:
            error = raised
            taken_back = releases and not back and isinstance(raised, Exception)
            if taken_back and lane.out is mine: lane.out = None; over = True  # fmt: skip  # noqa: E701, E702
            raise
        finally:
            if not over:
                try:
                    _end(session, home, mine, value, error, back=back)
                except Exception:
                    raise
                except BaseException as raised:
                    _end(session, home, mine, value, error or raised, back=back)
                    raise
        return value

    return guarded


def _end(
    session: LiveSession,
    home: MemoryHome,
    mine: list[str | None],
    value: object,
    error: BaseException | None,
    *,
    back: bool,
) -> None:
    """The end of a call that somebody has taken out of the lane, or that does not end there."""
    with Held(session, home.ticket_of(mine)) as held:
        held.begun = True
        held.value = value
        held.back = back
        if error is None:
            settle(held)
        elif not held.has_run:
            held.failed(error)
