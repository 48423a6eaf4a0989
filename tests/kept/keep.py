"""Keeps what this version of accord writes, for later ones to open: `python -m tests.kept.keep`.

Every sample is written to a folder named by the version, unless it is there already; `expected.json` says what this
version makes of it when it goes on. What is kept is never written again. A later version that cannot open something has
to say so, and what to do; then that is what `expected.json` is made to expect of it, by hand.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

import accord
from tests.kept import formats, ledgers, mailboxes, snapshots, stored, threads
from tests.kept.sample import went_on

__all__ = ["EXPECTED", "HERE", "SAMPLES", "addresses", "went_on_with"]

HERE = Path(__file__).parent
EXPECTED = "expected.json"
SAMPLES = {
    **snapshots.SAMPLES,
    **ledgers.SAMPLES,
    **stored.SAMPLES,
    **threads.SAMPLES,
    **mailboxes.SAMPLES,
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
    path = kept / EXPECTED
    expected = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for name, sample in SAMPLES.items():
        if name in expected:
            continue
        with tempfile.TemporaryDirectory(prefix="accord-keep-") as begun:  # the whole of it or nothing
            folder = Path(begun) / name
            folder.mkdir()
            with addresses(sample) as address:
                sample.write(folder, *address)
            with addresses(sample) as address:
                expected[name] = went_on_with(name, Path(begun), *address)
            shutil.copytree(folder, kept / name)
        path.write_text(json.dumps(expected, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
