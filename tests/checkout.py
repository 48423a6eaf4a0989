"""What the checkout consists of: its files, also those that are not committed yet, and nothing that was built."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]


def files() -> set[str]:
    """Their names, from the root."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {name for name in listed.rstrip("\0").split("\0") if (ROOT / name).is_file()}


def copied(folder: Path) -> Path:
    """A copy of them in a new folder."""
    for name in files():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes((ROOT / name).read_bytes())
    return folder
