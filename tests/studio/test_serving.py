"""A studio that listens, spoken to byte by byte."""

from __future__ import annotations

import itertools
import json
import socket
import threading
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from accord.studio import serving
from accord.studio.bounds import Bounds
from accord.studio.files import Files
from accord.studio.opened import OPENED, Studio
from accord.studio.requests import Nothing
from accord.studio.serving import listen, server_of

TOKEN = "a-token-for-tests"  # noqa: S105 - for tests


class Here:
    """Works on requests in this process: what is tested here is the server."""

    uploads = Path("/nonexistent")  # nothing is sent

    given_up = threading.Event()

    @classmethod
    def answer(cls, name, body, tell):
        if name == "judge":
            try:
                for number in itertools.count():
                    tell(b"%d" % number)
            finally:
                cls.given_up.set()
        return 200, json.dumps([name, len(body)]).encode()


@contextmanager
def served(bounds=Bounds(seconds=0.3)):  # noqa: B008 - a value
    studio = Studio(Files((), bounds.limits))
    with listen(0) as listener:
        port = listener.getsockname()[1]
        server = server_of(studio, bounds, Here, TOKEN, port)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            yield port
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def port():
    with served() as port:
        yield port


def spoken(port, data, *, end=False):
    """Everything that comes back until the other side closes."""
    with closing(socket.create_connection(("127.0.0.1", port), 20)) as connection:
        connection.sendall(data)
        if end:
            connection.shutdown(socket.SHUT_WR)
        found = b""
        while chunk := connection.recv(65536):
            found += chunk
        return found


def request(port, *lines, body=b"{}", target="/api/contract", method="POST", token=TOKEN, close=True):
    usual = [f"Host: 127.0.0.1:{port}", "Content-Type: application/json", f"Content-Length: {len(body)}"]
    if token:
        usual.append(f"Authorization: Bearer {token}")
    if close:
        usual.append("Connection: close")
    changed = {line.partition(":")[0].lower() for line in lines}
    kept = [line for line in usual if line.partition(":")[0].lower() not in changed]
    head = "\r\n".join([f"{method} {target} HTTP/1.1", *kept, *(line for line in lines if line.partition(":")[2])])
    return head.encode("latin-1") + b"\r\n\r\n" + body


def status(answer):
    return int(answer.split(b" ", 2)[1])


def test_the_page_is_answered(port):
    answer = spoken(port, request(port))
    assert status(answer) == 200 and answer.endswith(b'["contract", 2]')
    assert b"\r\nserver:" not in answer.lower()


@pytest.mark.parametrize(
    "host",
    ["localhost.:{}", "127.0.0.1.:{}", "LOCALHOST:{}", "[::1]:{}", "0.0.0.0:{}", "127.1:{}", "2130706433:{}",
     "evil.example:{}", "127.0.0.1:{}@evil.example", "127.0.0.1:0{}", "127.0.0.1", "localhost", "a:{0}, 127.0.0.1:{0}"],
)  # fmt: skip
def test_a_name_that_is_not_ours_gets_nothing(port, host):
    """A name that was rebound to this machine sends itself as host."""
    assert status(spoken(port, request(port, f"Host: {host.format(port)}"))) == 421


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("http://evil.example/api/contract", 404),
        ("http://127.0.0.1/api/contract", 404),
        ("//api/contract", 405),
        ("/api//contract", 405),
        ("/x/../api/contract", 405),
        ("/API/contract", 405),
        ("/api/contract/", 405),
        ("/api/contract%00", 404),
        ("*", 404),
        ("api/contract", 404),
    ],
)
def test_odd_targets_lead_nowhere(port, target, expected):
    assert status(spoken(port, request(port, target=target))) == expected
    assert status(spoken(port, request(port, target=target, token=None))) in {401, 404, 405}


@pytest.mark.parametrize("target", ["/api/contract", "/%61pi/contract", "/api/%63ontract", "/api/contract?x"])
def test_however_it_is_written_it_needs_the_token(port, target):
    assert status(spoken(port, request(port, target=target))) == 200
    assert status(spoken(port, request(port, target=target, token=None))) == 401
    assert status(spoken(port, request(port, "Authorization: Bearer \xff", target=target))) == 401


def test_two_requests_in_one_are_two(port):
    """What stands behind a body is not the body, and needs all that a request needs."""
    second = request(port, token=None)
    answer = spoken(port, request(port, close=False) + second)
    assert answer.count(b"HTTP/1.1 ") == 2 and b"HTTP/1.1 401" in answer
    smuggled = request(port, "Transfer-Encoding: chunked", body=b"0\r\n\r\n" + request(port, token=None))
    assert b'["contract", 0]' in spoken(port, smuggled)


@pytest.mark.parametrize(
    "line",
    ["Content-Length: 2\r\nContent-Length: 3", "Content-Length: -2", "Content-Length: +2", "Content-Length: 2, 3",
     "Transfer-Encoding: xchunked", "Host : evil.example", "X: \0", "X: " + "a" * 200_000],
)  # fmt: skip
def test_what_is_no_request_is_refused(port, line):
    try:
        assert status(spoken(port, request(port, line))) == 400
    except ConnectionResetError:
        assert len(line) > 100_000  # it does not read all of it


def test_it_becomes_no_other_protocol(port):
    for upgrade in ("websocket", "h2c"):
        lines = ("Connection: Upgrade", f"Upgrade: {upgrade}", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: eA==")
        assert status(spoken(port, request(port, *lines, method="GET", target="/", body=b""), end=True)) == 200


def test_a_body_that_does_not_come_is_not_waited_for(port):
    answer = spoken(port, request(port, "Content-Length: 100", body=b"{"))
    assert status(answer) == 408 and b"within 0.3 seconds" in answer


def test_work_that_whoever_went_away_has_asked_for_is_given_up(port):
    Here.given_up.clear()
    with closing(socket.create_connection(("127.0.0.1", port), 20)) as connection:
        connection.sendall(request(port, target="/api/judge"))
        with connection.makefile("rb") as answer:
            assert b'{"progress":0}\n' in iter(answer.readline, b"")
    assert Here.given_up.wait(20)
    assert status(spoken(port, request(port))) == 200


def test_whoever_goes_away_is_not_complained_about(port, capfd):
    for _ in range(3):
        with closing(socket.create_connection(("127.0.0.1", port), 20)) as connection:
            connection.sendall(request(port, "Content-Length: 100", body=b"{"))
    assert status(spoken(port, request(port))) == 200
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("begun", ["nothing", "a head", "a second head", "a body that was refused"])
def test_a_connection_on_which_nothing_comes_is_closed(monkeypatch, begun):
    monkeypatch.setattr(serving, "_IDLE_SECONDS", 0.2)
    with served() as port:
        data = {
            "nothing": b"",
            "a head": b"POST /api/contract HT",
            "a second head": request(port, close=False) + b"POST /",
            "a body that was refused": request(port, "Content-Length: 100", token=None, close=False),
        }[begun]
        answer = spoken(port, data)  # ends only because the other side closes
    assert (begun in {"nothing", "a head"}) == (answer == b"")


def test_a_connection_that_is_used_is_kept(port):
    with closing(socket.create_connection(("127.0.0.1", port), 20)) as connection:
        file = connection.makefile("rb")
        for _ in range(3):
            connection.sendall(request(port, close=False))
            size = 0
            while (line := file.readline()) not in {b"\r\n", b""}:
                if line.lower().startswith(b"content-length:"):
                    size = int(line.split(b":")[1])
            assert file.read(size) == b'["contract", 2]'


def test_two_hundred_at_once_are_all_answered():
    answers = []
    with served(Bounds(seconds=20.0)) as port:
        threads = [
            threading.Thread(target=lambda: answers.append(status(spoken(port, request(port))))) for _ in range(200)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert answers == [200] * 200


def test_whoever_finds_all_busy_is_told(monkeypatch):
    going, free = threading.Semaphore(0), threading.Event()

    def slow(*_):
        going.release()
        free.wait(20)

    monkeypatch.setitem(OPENED, "sessions", (Nothing, slow))
    answers = []
    with served(Bounds(seconds=0.3, at_once=2)) as port:
        asked = request(port, target="/api/sessions")
        threads = [threading.Thread(target=lambda: answers.append(status(spoken(port, asked)))) for _ in range(2)]
        for thread in threads:
            thread.start()
            going.acquire(timeout=20)
        busy = spoken(port, asked)
        assert status(busy) == 503 and b"busy" in busy
        assert status(spoken(port, request(port))) == 200  # texts are looked at elsewhere
        free.set()
        for thread in threads:
            thread.join()
    assert answers == [200, 200]
