"""Files that the page has sent to be looked at, each under the digest of its content.

They come as a stream and lie on disk, so their size costs no memory. A digest names the same bytes for ever: a request
that names one is a value like any other. What was not asked about for longest goes first when there are too many, and
all of them go when the studio ends.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING

from accord.studio.requests import RefusedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterable
    from pathlib import Path

    from accord.studio.bounds import Bounds

__all__ = ["receive", "uploaded"]

_DIGEST = re.compile(r"[0-9a-f]{64}\Z")


async def receive(folder: Path, stream: AsyncIterable[bytes], bounds: Bounds) -> dict[str, object]:
    """Keep what comes, and say under which digest. Raises `RefusedError` if it is too large."""
    digest = hashlib.sha256()
    size = 0
    handle, name = tempfile.mkstemp(dir=folder, prefix="coming-")
    try:
        with os.fdopen(handle, "wb") as file:
            async for chunk in stream:
                size += len(chunk)
                _check(size, bounds.upload_bytes)
                digest.update(chunk)
                file.write(chunk)
        kept = folder / digest.hexdigest()
        os.replace(name, kept)  # noqa: PTH105 - as the file was made
    except BaseException:
        with suppress(OSError):
            os.unlink(name)  # noqa: PTH108 - likewise
        raise
    _make_room(folder, kept, bounds.uploads_bytes)
    return {"file": kept.name, "bytes": size}


def _check(size: int, most: int) -> None:
    if size > most:
        raise RefusedError(
            f"the file is larger than {most // 1_000_000} MB; "
            "`accord audit --json` takes files of any size, and its result opens here"
        )


def uploaded(folder: Path, digest: str) -> Path:
    """Where the file of that digest lies."""
    path = folder / digest
    if _DIGEST.match(digest) is None or not path.is_file():
        raise RefusedError("the file is not here any more; open it again")
    with suppress(OSError):
        os.utime(path)  # it was asked about just now
    return path


def _make_room(folder: Path, kept: Path, most: int) -> None:
    """Let the oldest go until all fit; never the one that has just come."""
    found = []
    for path in folder.iterdir():
        with suppress(OSError):  # another request was quicker
            about = path.stat()
            if path != kept and _DIGEST.match(path.name):
                found.append((about.st_mtime_ns, about.st_size, path))
    total = sum(size for _, size, _ in found) + kept.stat().st_size
    for _, size, path in sorted(found):
        if total <= most:
            return
        with suppress(OSError):
            path.unlink()
        total -= size
