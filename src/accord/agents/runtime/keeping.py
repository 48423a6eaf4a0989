"""`Keeper`: lets others know that this process lives, and sees to the estates of those that do not."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from accord.agents.runtime.estates import settle_estate
from accord.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.agents.runtime.estates import Estate
    from accord.agents.runtime.hub import Hub

__all__ = ["Keeper"]


class Keeper:
    """The tasks that do so, for one supervisor. `failed` is called if they cannot, as nobody would know any more."""

    def __init__(self, hub: Hub, failed: Callable[[Exception], None]) -> None:
        self._hub = hub
        self._failed = failed
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Begin."""
        self._run(asyncio.get_running_loop().create_task(self._keep()))

    async def stop(self) -> None:
        """End; what is left of an estate is inherited by somebody else."""
        tasks = set(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _run(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _keep(self) -> None:
        while True:
            try:
                estate = await self._hub.transport.inherit()
            except Exception as error:  # noqa: BLE001 - whatever it is, nobody is told any more that this process lives
                self._failed(error)
                return
            self._run(asyncio.get_running_loop().create_task(self._settle(estate)))

    async def _settle(self, estate: Estate) -> None:
        # Whatever hinders us: what is left of the estate is inherited again, by whoever is there.
        with suppress(StoreError):
            try:
                await settle_estate(self._hub, estate)
            finally:
                await self._hub.transport.close(estate.name)
