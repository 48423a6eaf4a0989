"""Many threads at the same moment, switched as often as the interpreter can."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager

THREADS = 8


@contextmanager
def frantic_switching():
    """Let the interpreter switch threads as often as it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-7)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def all_at_once(work, threads=THREADS):
    """Run `work(number)` in that many threads at the same moment; what each returned or raised."""
    barrier = threading.Barrier(threads)
    results: list[object] = [None] * threads

    def run(number):
        barrier.wait()
        try:
            results[number] = work(number)
        except BaseException as error:
            results[number] = error

    crew = [threading.Thread(target=run, args=(n,)) for n in range(threads)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join(60)
        assert not thread.is_alive()
    return results
