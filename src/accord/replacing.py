"""A file gets a new text in one step.

It may be one nobody else has a copy of. At every moment it holds the whole old text or the whole new one.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from accord.errors import UsageError

__all__ = ["replace_file"]


def replace_file(path: Path, text: str) -> None:
    """Give the file a new text in one step, keeping its permissions; a symbolic link keeps pointing to it."""
    target = path.resolve()
    temporary = None
    try:
        before = target.stat()
        if not stat.S_ISREG(before.st_mode):
            raise PermissionError(0, "it is no ordinary file")
        if not os.access(target, os.W_OK):
            raise PermissionError(0, "the file is read-only")
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".accord-", delete=False) as file:
            temporary = Path(file.name)
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        os.chown(temporary, before.st_uid, before.st_gid)
        temporary.chmod(stat.S_IMODE(before.st_mode))
        temporary.replace(target)
        temporary = None
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
