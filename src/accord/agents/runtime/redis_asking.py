"""Asking Redis, and asking again while it is away: all requests of `RedisStreams` go through here.

The driver asks again on its own too, unless it is told not to; then nobody would know for how long.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from accord.errors import StoreError, UsageError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["LONGEST", "SHORTEST", "Asking", "decode", "look_until"]

R = TypeVar("R")

SHORTEST, LONGEST = 0.002, 0.1
"""Seconds between two attempts: each pause is twice the one before."""
_ANSWER_SECONDS = 5.0


class Asking:
    """A Redis, and how many seconds it may be away."""

    def __init__(self, url: str, lease: float) -> None:
        driver = _load()
        self._error: type[Exception] = driver.RedisError
        self._away = (driver.ConnectionError, driver.TimeoutError, OSError)
        self._lease = lease
        options = {"socket_timeout": _ANSWER_SECONDS, "socket_connect_timeout": _ANSWER_SECONDS}
        never = driver.asyncio.retry.Retry(driver.backoff.NoBackoff(), 0)
        try:
            self.client: Any = driver.asyncio.Redis.from_url(url, retry=never, **options)
        except ValueError:
            raise UsageError("this is no address of a Redis; one is `redis://HOST:PORT/NUMBER`") from None

    async def ask(self, request: Callable[[], Awaitable[R]], patience: float | None = None) -> R:
        """Ask Redis, and ask again while it is away."""
        until = time.monotonic() + (self._lease if patience is None else patience)
        pause = SHORTEST
        task = asyncio.current_task()
        cancelled = 0 if task is None else task.cancelling()
        while True:
            failure = None
            try:
                answer = await request()
            except self._away as error:
                failure = error
            except self._error as error:
                raise StoreError(f"Redis did not do it ({type(error).__name__})") from error
            # The driver waits with timeouts of its own, in which a cancellation that comes at the same time is lost.
            if task is not None and task.cancelling() > cancelled:
                raise asyncio.CancelledError
            if failure is None:
                return answer
            if time.monotonic() >= until:
                raise StoreError(f"Redis did not do it ({type(failure).__name__})") from failure
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST)


async def look_until(look: Callable[[], Awaitable[R]], suffices: Callable[[R], bool], patience: float) -> R:
    """Look until what is found suffices, or patience ends; what was found last."""
    until, pause = time.monotonic() + patience, SHORTEST
    while True:
        found = await look()
        if suffices(found) or time.monotonic() >= until:
            return found
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST)


def decode(data: bytes, type_: type[R]) -> R:
    """What stands in Redis; `StoreError` if it is something else."""
    try:
        return msgspec.json.decode(data, type=type_)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise StoreError(
            "what stands in Redis was not written by this version of accord; use another `prefix`"
        ) from None


def _load() -> Any:  # noqa: ANN401 - the driver
    try:
        import redis  # noqa: PLC0415 - only who uses it needs it
        import redis.asyncio  # noqa: PLC0415
        import redis.asyncio.retry  # noqa: PLC0415
        import redis.backoff  # noqa: PLC0415
    except ImportError:
        raise UsageError("mailboxes in Redis need its driver: pip install 'accord-contracts[redis]'") from None
    return redis
