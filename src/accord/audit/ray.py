"""The engine `ray`: batches of files as tasks of a Ray cluster."""

from __future__ import annotations

import logging
import os
import pickle
import socket
from itertools import islice
from typing import TYPE_CHECKING

from accord.audit.remote import batches, keep, work
from accord.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from accord.audit.cache import Cache
    from accord.audit.local import Done
    from accord.audit.plan import FileTask
    from accord.audit.worker import Job

__all__ = ["run_ray"]

_AHEAD = 4
"""Batches for each worker that are under way at the same time."""

_PATIENCE = 10.0
"""Seconds until a cluster must have answered."""


def _knock(address: str | None) -> None:
    """Raise `OSError` if nobody listens there: Ray would end the whole process."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), _PATIENCE).close()


def run_ray(
    job: Job,
    identity: str | None,
    tasks: Sequence[FileTask],
    cache: Cache,
    address: str | None,
    told: Callable[[Done], None],
) -> None:
    """Judge files on the cluster at the address, or on one started on this machine for the purpose.

    Raises `UsageError` if Ray is not installed or the cluster cannot be reached.
    """
    # Nobody is told about us, and tasks run in the environment they are started from.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    try:
        import ray  # noqa: PLC0415 - the extra `ray`
    except ImportError:
        raise UsageError("the engine `ray` needs Ray: pip install 'accord-contracts[ray]'") from None
    begun = not ray.is_initialized()
    if begun:
        try:
            _knock(address)
            if address is None:
                ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
            else:
                ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, OSError, RuntimeError, ValueError, TimeoutError) as error:
            raise UsageError(f"there is no Ray cluster at {address or 'this machine'}: {error}") from None
    try:
        workers = max(1, int(ray.cluster_resources().get("CPU", 1)))  # type: ignore[no-untyped-call] # it has no types
        packed, known = ray.put(pickle.dumps(job)), ray.put(cache.keys())
        remote = ray.remote(work)
        groups = iter(batches(tasks, workers))
        # No more at a time than keep all workers busy: what comes back is held until it is kept.
        waiting = [remote.remote(packed, identity, known, group) for group in islice(groups, _AHEAD * workers)]
        while waiting:
            finished, waiting = ray.wait(waiting)
            waiting += [remote.remote(packed, identity, known, group) for group in islice(groups, len(finished))]
            for one in finished:
                keep(cache, ray.get(one), told)
    finally:
        if begun:
            ray.shutdown()
