"""Keeps what this version of accord writes, for later ones to open: `python -m tests.kept.keep`.

Everything is written to a folder named by the version, with `expected.json`: what this version makes of it when it goes
on. What a released version has written is never written again. A later version that cannot open something has to say
so, and what to do; then that is what `expected.json` is made to expect of it, by hand.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import accord
from tests.kept import formats, ledgers, snapshots, stored, threads
from tests.kept.sample import went_on

__all__ = ["EXPECTED", "HERE", "SAMPLES", "addresses", "went_on_with"]

HERE = Path(__file__).parent
EXPECTED = "expected.json"
SAMPLES = {
    **snapshots.SAMPLES,
    **ledgers.SAMPLES,
    **stored.SAMPLES,
    **threads.SAMPLES,
    **formats.SAMPLES,
}


def went_on_with(name, kept, *address):
    """What today's accord makes of a sample in the folder of a version; what is kept there stays as it is."""
    with tempfile.TemporaryDirectory(prefix="accord-kept-") as copied:
        folder = shutil.copytree(kept / name, Path(copied) / name)
        return went_on(SAMPLES[name], folder, *address)


@contextmanager
def addresses(sample):
    """The address of an empty server, if the sample lives in one."""
    if sample.server is None:
        yield ()
        return
    with sample.server(flush=False) as server:
        yield (server.url,)


def main() -> None:
    kept = HERE / accord.__version__
    if kept.exists():
        sys.exit(f"{kept} is there already, and what a version has written is not written again")
    with tempfile.TemporaryDirectory(prefix="accord-keep-") as begun:  # the whole of it or nothing
        written = Path(begun) / "kept"
        expected = {}
        for name, sample in SAMPLES.items():
            folder = written / name
            folder.mkdir(parents=True)
            with addresses(sample) as address:
                sample.write(folder, *address)
            with addresses(sample) as address:
                expected[name] = went_on_with(name, written, *address)
        text = json.dumps(expected, indent=1, ensure_ascii=False)
        (written / EXPECTED).write_text(text + "\n", encoding="utf-8")
        shutil.copytree(written, kept)


if __name__ == "__main__":
    main()
