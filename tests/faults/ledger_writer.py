"""A process that writes to a ledger until it is killed, and says what was acknowledged.

    python ledger_writer.py PATH SEED [WRITES]

Each acknowledged head goes to standard output at once, in one piece. Some entries are large, so that a kill can hit the
middle of a write. With WRITES the process kills itself in the middle of a write, after so many whole ones.
"""

from __future__ import annotations

import os
import random
import signal
import sys

from accord import FileSink, Ledger, Monitor, RecordedMonitor
from accord.ledger import file_sink


def die_in_a_write(writes: int, rng: random.Random) -> None:
    """From now on so many writes are whole; of the next one a part is written, and that is the end."""
    plain = os.pwrite
    left = iter(range(writes))

    def write(descriptor: int, data: memoryview, start: int) -> int:
        if next(left, None) is not None:
            return plain(descriptor, data, start)
        plain(descriptor, data[: rng.randrange(1, len(data))], start)
        os.kill(os.getpid(), signal.SIGKILL)
        raise SystemExit

    file_sink.os.pwrite = write


def main(path: str, seed: str, writes: str = "") -> None:
    rng = random.Random(seed)
    if writes:
        die_in_a_write(int(writes), rng)
    ledger = Ledger(FileSink(path))
    os.write(1, f"{ledger.head}\n".encode())
    session = RecordedMonitor(Monitor("rec X.!a.X"), ledger, session=seed)
    while True:
        session.send("a", {"x": "y" * rng.choice((0, 10, 5_000, 300_000, 900_000))})
        os.write(1, f"{ledger.head}\n".encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
