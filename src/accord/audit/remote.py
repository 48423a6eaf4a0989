"""What an engine beyond one machine runs: batches of files in, results as bytes out.

Workers see the files, by the same paths, and nothing else of ours; results travel back compressed and are kept where
the audit was started. Results that are kept already are not worked out again: workers are told which.
"""

from __future__ import annotations

import tempfile
import zlib
from typing import TYPE_CHECKING, NamedTuple

from accord.audit.local import Done, batches, key_of, key_of_nothing, stamp, unpacked
from accord.audit.worker import judge_file
from accord.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from accord.audit.cache import Cache
    from accord.audit.plan import FileTask

__all__ = ["Sent", "batches", "keep", "work"]

_IN_MEMORY = 1 << 22


class Sent(NamedTuple):
    """What became of a file: the name of its result and the result, compressed, unless it is kept already."""

    number: int
    key: str | None
    result: bytes | None = None
    error: str | None = None


def work(job: bytes, identity: str | None, known: frozenset[str], tasks: Iterable[FileTask]) -> list[Sent]:
    """Judge the files of a batch. Runs on a worker; `job` is a pickle."""
    sent = []
    for task in tasks:
        try:
            before = stamp(task.path)
            key = key_of(identity, task)
            if key in known:
                sent.append(Sent(task.number, key))
                continue
            with tempfile.SpooledTemporaryFile(_IN_MEMORY) as stream:
                judge_file(unpacked(job), task.path, stream)  # type: ignore[arg-type] # a stream like any other
                if identity is not None and stamp(task.path) != before:
                    key = key_of_nothing()
                stream.seek(0)
                sent.append(Sent(task.number, key, zlib.compress(stream.read(), 1)))
        except UsageError as error:
            sent.append(Sent(task.number, None, error=str(error)))
        except Exception as error:  # noqa: BLE001 - one file must not take all others with it
            sent.append(Sent(task.number, None, error=f"accord failed inside ({error!r})"))
    return sent


def keep(cache: Cache, sent: Iterable[Sent], told: Callable[[Done], None]) -> None:
    """Keep the results that came back."""
    for one in sent:
        if one.key is not None and one.result is not None:
            with cache.writing(one.key) as writing:
                writing.stream.write(zlib.decompress(one.result))
        told(Done(one.number, one.key, one.key is not None and one.result is None, one.error))
