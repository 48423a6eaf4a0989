"""The engine `spark`: batches of files as the partitions of a Spark job."""

from __future__ import annotations

import os
import pickle
import sys
from typing import TYPE_CHECKING, Any

from accord.audit.remote import batches, keep, work
from accord.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from accord.audit.cache import Cache
    from accord.audit.local import Done
    from accord.audit.plan import FileTask
    from accord.audit.remote import Sent
    from accord.audit.worker import Job

__all__ = ["run_spark"]

_WAVE = 8
"""Batches for each worker before results are fetched."""

_QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}


def run_spark(
    job: Job,
    identity: str | None,
    tasks: Sequence[FileTask],
    cache: Cache,
    address: str | None,
    told: Callable[[Done], None],
) -> None:
    """Judge files on the cluster whose master is at the address, or on this machine.

    Raises `UsageError` if PySpark or Java is not there, or the cluster cannot be reached.
    """
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - the extra `spark`
    except ImportError:
        raise UsageError("the engine `spark` needs PySpark: pip install 'accord-contracts[spark]'") from None
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1" if address is None else os.environ.get("SPARK_LOCAL_IP", ""))
    begun = SparkSession.getActiveSession() is None
    try:
        builder: Any = SparkSession.builder.appName("accord audit").master(address or "local[*]")
        session = builder.config(map=_QUIET).getOrCreate()
    except Exception as error:  # noqa: BLE001 - what Spark raises without Java or cluster has no common class
        raise UsageError(f"Spark does not start at {address or 'this machine'}: {error}") from None
    try:
        context = session.sparkContext
        groups = batches(tasks, context.defaultParallelism)
        packed, known = context.broadcast(pickle.dumps(job)), context.broadcast(cache.keys())

        def judge(partition: Iterator[list[FileTask]]) -> Iterator[list[Sent]]:
            for group in partition:
                yield work(packed.value, identity, known.value, group)

        # In waves, so that all workers have something to do and what comes back does not grow with the number of files.
        wave = _WAVE * context.defaultParallelism
        for begin in range(0, len(groups), wave):
            here = groups[begin : begin + wave]
            for sent in context.parallelize(here, len(here)).mapPartitions(judge).collect():
                keep(cache, sent, told)
    finally:
        if begun:
            session.stop()
