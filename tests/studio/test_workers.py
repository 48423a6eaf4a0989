"""Processes that work on requests: whatever a request does to one of them, the next request is answered."""

from __future__ import annotations

import io
import json
import os
import signal
import tempfile
import threading

import pytest

from accord.studio import worker
from accord.studio.bounds import Bounds
from accord.studio.requests import Nothing
from accord.studio.workers import Workers
from tests.studio.asking import Asker

# Every rule has a deadline for each of a thousand keys: far more than a second's work, whatever the machine.
ENDLESS = {
    "text": "".join(f'rule "r{n}" {{ each x: within {n + 1}h after a require b{n} }}\n' for n in range(100)),
    "events": [" ".join(f'@{n} !a {{"x": {n}}}' for n in range(15_000))],
}
FINE = {"text": "!a.end"}


@pytest.fixture
def workers():
    with Workers(Bounds(seconds=1.0)) as begun:
        yield begun


def ask(workers, name, request, tell=lambda _: None):
    status, body = workers.answer(name, json.dumps(request).encode(), tell)
    return status, json.loads(body)


def pids(workers):
    return [worker._process.pid for worker in workers._idle]


def test_what_takes_too_long_is_ended_and_the_next_is_answered(workers):
    assert ask(workers, "contract", FINE)[0] == 200
    first = pids(workers)
    assert ask(workers, "walk", ENDLESS) == (503, {"error": "it takes longer than 1 seconds, so it was given up"})
    assert pids(workers) == []
    with pytest.raises(ProcessLookupError):
        os.kill(first[0], 0)
    assert ask(workers, "contract", FINE)[0] == 200


def test_what_needs_too_much_memory_is_ended_and_the_next_is_answered():
    with Workers(Bounds(memory_bytes=100_000_000, seconds=100.0)) as workers:
        assert ask(workers, "contract", FINE)[0] == 200
        told = ask(workers, "walk", ENDLESS)
        assert told == (503, {"error": "it needs more than 100 MB of memory, so it was given up"})
        assert ask(workers, "contract", FINE)[0] == 200


def test_what_gets_on_is_not_given_up(monkeypatch, tmp_path):
    """Each word about how far it is gives it as long again."""
    timers = []
    monkeypatch.setattr(worker.signal, "setitimer", lambda _, seconds: timers.append(seconds))

    def three_words(shop, _):
        for number in range(3):
            shop.tell({"judged": number})
        return "done"

    monkeypatch.setattr(worker, "ANSWERS", {"judge": (Nothing, three_words)})
    asked, told = io.BytesIO(), io.BytesIO()
    worker.write_frame(asked, 5, b"judge{}")
    asked.seek(0)
    worker._work(asked, told, Bounds(seconds=7.0), tmp_path)
    told.seek(0)
    frames = [worker.read_frame(told) for _ in range(4)]
    assert frames == [*((worker.PROGRESS, b'{"judged":%d}' % n) for n in range(3)), (200, b'"done"')]
    assert timers == [7.0] * 4 + [0]


def test_what_nobody_waits_for_any_more_is_ended(workers, tmp_path):
    def gone(_):
        raise ConnectionError

    line = b'{"messages": [{"role": "user", "content": "x"}]}\n'
    (workers.uploads / ("0" * 64)).write_bytes(line * 200_000)
    request = {"text": "!a.end", "file": {"name": "x", "file": "0" * 64}}
    with pytest.raises(ConnectionError):
        ask(workers, "judge", request, gone)
    assert not workers._busy and not workers._idle
    assert ask(workers, "contract", FINE)[0] == 200


def test_a_worker_that_somebody_has_killed_is_replaced(workers):
    assert ask(workers, "contract", FINE)[0] == 200
    first = workers._idle[0]
    first._process.kill()
    first._process.wait()
    assert ask(workers, "contract", FINE)[0] == 200
    assert pids(workers) != [first._process.pid]


def test_a_worker_that_breaks_down_is_told_and_replaced(workers, monkeypatch):
    """As if something written in C had crashed."""
    assert ask(workers, "contract", FINE)[0] == 200
    (first,) = workers._idle
    monkeypatch.setattr(first, "_tell", lambda *_: os.kill(first._process.pid, signal.SIGSEGV))
    status, told = ask(workers, "contract", FINE)
    assert status == 500 and "ended with status -11" in told["error"]
    assert ask(workers, "contract", FINE)[0] == 200


def test_as_many_as_are_asked_at_the_same_time_and_all_are_gone_in_the_end(workers):
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(ask(workers, "contract", FINE)[0])) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [200] * 3
    begun = pids(workers)
    assert 1 <= len(begun) <= 3
    workers.close()
    for pid in begun:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_closing_ends_what_is_being_worked_on():
    workers = Workers(Bounds(seconds=100.0))
    answers = []
    thread = threading.Thread(target=lambda: answers.append(ask(workers, "walk", ENDLESS)))
    thread.start()
    while not workers._busy:
        pass
    workers.close()
    thread.join()
    assert answers == [(503, {"error": "the studio was ended"})]


def test_nothing_is_left_in_the_folder_for_temporary_files(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Workers(Bounds(seconds=1.0)) as workers:
        (workers.uploads / "coming").write_text("x")
        assert ask(workers, "walk", ENDLESS)[0] == 503
        assert ask(workers, "contract", FINE)[0] == 200
        assert len(list(tmp_path.iterdir())) == 2
    assert list(tmp_path.iterdir()) == []


def test_nothing_of_the_folder_one_is_in_is_loaded(tmp_path, monkeypatch):
    (tmp_path / "json.py").write_text("raise SystemExit('loaded')")
    (tmp_path / "accord.py").write_text("raise SystemExit('loaded')")
    monkeypatch.chdir(tmp_path)
    with Workers(Bounds()) as workers:
        assert ask(workers, "contract", FINE)[0] == 200


def test_the_application_answers_through_them(workers):
    asker = Asker(work=workers.answer)
    assert asker.ask("contract", **FINE)["ok"]
    assert asker.post("walk", **ENDLESS).status == 503
    assert asker.post("contract", text="rec X.X").status == 200
    assert asker.post("walk", text="rec X.X").status == 422
