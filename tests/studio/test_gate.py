"""Nobody gets an answer who is not the studio's own page, and no answer can be made to run anything."""

from __future__ import annotations

import pytest

from accord.studio.bounds import Bounds
from accord.studio.opened import OPENED
from tests.studio.asking import GOOD, HOST, TOKEN, Asker

BODY = b'{"text": "!a.end"}'


@pytest.fixture(scope="module")
def asker():
    return Asker()


def changed(**headers):
    return {name: value for name, value in {**GOOD, **headers}.items() if value is not None}


def test_the_page_is_answered(asker):
    assert asker.request("POST", "/api/contract", BODY).status == 200
    assert asker.request("POST", "/api/contract", BODY, changed(origin=None)).status == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (changed(authorization=None), 401),
        (changed(authorization="Bearer "), 401),
        (changed(authorization=TOKEN), 401),
        (changed(authorization=f"Bearer {TOKEN[:-1]}"), 401),
        (changed(authorization=f"bearer {TOKEN}"), 401),
        ([*GOOD.items(), ("authorization", f"Bearer {TOKEN}")], 401),
        (changed(host="evil.example"), 421),
        (changed(host="evil.example:8722"), 421),
        (changed(host="127.0.0.1:8723"), 421),
        (changed(host="127.0.0.1"), 421),
        (changed(host=None), 421),
        ([*GOOD.items(), ("host", HOST)], 421),
        (changed(origin="http://evil.example"), 403),
        (changed(origin="null"), 403),
        (changed(origin="https://127.0.0.1:8722"), 403),
        (changed(origin="http://127.0.0.1:3000"), 403),
        ([*GOOD.items(), ("origin", "http://evil.example")], 403),
        (changed(**{"sec-fetch-site": "cross-site"}), 403),
        (changed(**{"sec-fetch-site": "same-site"}), 403),
        (changed(**{"content-type": "text/plain"}), 415),
        (changed(**{"content-type": None}), 415),
    ],
)
def test_others_are_not(asker, headers, status):
    answer = asker.request("POST", "/api/contract", BODY, headers)
    assert answer.status == status
    assert answer.json["error"]
    assert "findings" not in answer.json


@pytest.mark.parametrize("path", ["/", "/api/contract", "/api/nothing", "/nowhere", "/../../etc/passwd", "/%2e%2e/x"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_every_answer_is_locked_up(asker, method, path):
    for headers in (GOOD, changed(authorization=None), changed(host="evil.example")):
        answer = asker.request(method, path, BODY, headers)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy and "http:" not in policy and "*" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in answer.headers


def test_the_page_needs_no_token_and_nothing_else_is_served(asker):
    assert asker.request("GET", "/", headers=changed(authorization=None)).status == 200
    assert asker.request("GET", "/", headers=changed(host="evil.example")).status == 421
    for path in ("/app.py", "/../app.py", "/page/index.html", "/assets/../index.html", "//etc/passwd"):
        assert asker.request("GET", path).status == 404
    assert asker.request("GET", "/api/contract").status in {404, 405}
    assert asker.request("POST", "/").status == 405


def test_size_is_limited():
    asker = Asker(Bounds(body_bytes=100))
    assert asker.request("POST", "/api/contract", BODY).status == 200
    refused = asker.request("POST", "/api/contract", b'{"text": "' + b"a" * 100 + b'"}')
    assert (refused.status, refused.json["error"]) == (413, "the request is larger than 100 bytes")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'{"text": 1}',
        b'{"text": "", "x": 1}',
        b"\xff",
        b"[" * 100_000,
        b'{"text": "\\ud800"}',
        b"null",
    ],
)
def test_what_is_no_request_is_told(asker, body):
    answer = asker.request("POST", "/api/contract", body)
    assert answer.status in {200, 400}
    if answer.status == 400:
        assert answer.json["error"].startswith("the request cannot be read")


def test_a_bug_inside_is_an_answer(asker, monkeypatch):
    monkeypatch.setitem(OPENED, "about", (dict, lambda *_: 1 / 0))
    answer = asker.post("about")
    assert answer.status == 500
    assert "please report" in answer.json["error"] and "division" in answer.json["error"]
