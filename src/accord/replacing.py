"""A file gets a new text in one step.

It may be one nobody else has a copy of. At every moment it holds the whole old text or the whole new one, and what
somebody else has written into it in the meantime is not lost.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from accord.errors import UsageError

__all__ = ["ChangedFileError", "create_file", "replace_file"]


class ChangedFileError(UsageError):
    """The file does not hold what it was thought to hold."""


def replace_file(path: Path, text: str, before: str) -> None:
    """Give the file that holds `before` a new text, keeping its permissions; a symbolic link keeps pointing to it.

    Raises `UsageError` if it cannot be written, `ChangedFileError` if it holds something else by now.
    """
    target = path.resolve()
    expected = before.encode("utf-8")
    temporary = None
    try:
        found = target.stat()
        if not stat.S_ISREG(found.st_mode):
            raise PermissionError(0, "it is no ordinary file")
        if not os.access(target, os.W_OK):
            raise PermissionError(0, "the file is read-only")
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".accord-", delete=False) as file:
            temporary = Path(file.name)
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        os.chown(temporary, found.st_uid, found.st_gid)
        temporary.chmod(stat.S_IMODE(found.st_mode))
        # As late as can be: no system has one step for both, and what comes between these two lines takes microseconds.
        if target.read_bytes() != expected:
            raise ChangedFileError(f"{path} was changed by somebody else in the meantime; nothing was written")
        temporary.replace(target)
        temporary = None
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def create_file(path: Path, text: str) -> None:
    """Make a file that is not there.

    Raises `UsageError` if it cannot be written, `ChangedFileError` if it is there by now.
    """
    try:
        file = path.open("xb")
    except FileExistsError:
        raise ChangedFileError(f"{path} was made by somebody else in the meantime; nothing was written") from None
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None
    try:
        with file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
    except BaseException as error:
        path.unlink(missing_ok=True)  # half a contract is worse than none
        if isinstance(error, OSError):
            raise UsageError(f"cannot write {path}: {error.strerror or error}") from None
        raise
