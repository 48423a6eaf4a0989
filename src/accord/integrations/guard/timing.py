"""What time it is for a session, whatever its clock does.

The time of a session never goes back: what was judged stays judged. So a clock that was set back must not make it
stand still, because nothing would expire until the clock is where it was before, which may be in a hundred years. The
session goes on from where it stands, as many seconds later as the clock says from then on; it is *ahead* of its clock
by what that was set back. When the clock has caught up the two are one again. Workers whose clocks differ a little
do no harm: no time is later than the latest clock says.

How much time has passed while a clock was set back nobody knows. Where it was set back by more than `DOUBTED` seconds,
what a person has been asked or has allowed until then counts as expired, if it can expire: it is asked anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accord.integrations.guard.state import Desk, Review
    from accord.machine.clocks import Time

__all__ = ["DOUBTED", "on_time"]

DOUBTED = 60
"""Clocks of workers differ by less."""


def on_time(desk: Desk, clock: Time) -> Desk:
    """The desk when the clock says that.

    Example:
        >>> from accord.integrations.guard.state import Desk
        >>> desk = on_time(Desk(now=5000), 100)
        >>> desk.now, desk.ahead, on_time(desk, 130).now, on_time(desk, 6000).ahead
        (5000, 4900, 5030, 0)
    """
    last = desk.now
    if last is None or clock >= last:
        return desk if clock == last and not desk.ahead else desk._replace(now=clock, ahead=0)
    if clock + desk.ahead >= last:
        return desk._replace(now=clock + desk.ahead)
    back = last - clock - desk.ahead
    desk = desk._replace(ahead=last - clock)
    return desk._replace(reviews=tuple([_expired(each, last) for each in desk.reviews])) if back > DOUBTED else desk


def _expired(review: Review, at: Time) -> Review:
    return review if review.expires is None else review._replace(expires=min(review.expires, at))
