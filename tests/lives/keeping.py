"""Sessions that are written down and read again: what is not written down is gone."""

from __future__ import annotations

from accord import Guard
from accord.integrations.guard import codec
from accord.integrations.guard.homes import MemoryHome
from accord.monitor import snapshot as snapshots
from tests.lives.tables import encoded


def written(guard: Guard) -> tuple[bytes, bytes]:
    """What is kept of a session: where it stands, and what the guard knows beside."""
    state = guard._session.state()
    described = snapshots.describe(state.settled, guard.contract, guard.protocol, "refuse", 0)
    return encoded(described), bytes(codec.write(state))


def revived(guard: Guard, other: Guard) -> Guard:
    """Another guard, in memory, that goes on from what is kept of the first."""
    session, beside = written(guard)
    situation, *_ = snapshots.read_described(session, guard.contract)
    home = other._session.home
    assert isinstance(home, MemoryHome)
    home._close_lane()
    home._here = codec.read(beside, situation)
    home._open_lane()
    return other
