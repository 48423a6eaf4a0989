"""A Redis that is away, comes back, stays away, or says no: asked without one."""

from __future__ import annotations

import asyncio

import pytest
import redis

from accord import StoreError, UsageError
from accord.agents import RedisStreams
from accord.agents.runtime import redis_asking
from accord.agents.runtime.redis_asking import LONGEST, SHORTEST, Asking, look_until

URL = "redis://127.0.0.1:1/0"
AWAY = [redis.ConnectionError("gone"), redis.TimeoutError("slow"), OSError("no route")]


class Server:
    """Fails in these ways, one after the other, and then answers."""

    def __init__(self, *fails: BaseException) -> None:
        self.fails = list(fails)
        self.asked = 0

    async def request(self) -> str:
        self.asked += 1
        if self.fails:
            raise self.fails.pop(0)
        return "answer"


@pytest.fixture
def pauses(monkeypatch):
    """The pauses that are made, none of which takes any time."""
    made: list[float] = []
    sleep = asyncio.sleep

    async def pause(seconds: float) -> None:
        made.append(seconds)
        await sleep(0)

    monkeypatch.setattr(redis_asking.asyncio, "sleep", pause)
    return made


def ask(server, patience=1000.0):
    async def main():
        asking = Asking(URL, 1000.0)
        try:
            return await asking.ask(server.request, patience)
        finally:
            await asking.client.aclose()

    return asyncio.run(main())


@pytest.mark.parametrize("fails", [[], AWAY[:1], AWAY, AWAY * 5])
def test_one_that_comes_back_is_asked_again_ever_less_often(fails, pauses):
    server = Server(*fails)
    assert ask(server) == "answer"
    assert server.asked == len(fails) + 1
    assert pauses == [min(SHORTEST * 2**n, LONGEST) for n in range(len(fails))]


@pytest.mark.parametrize("error", AWAY)
def test_one_that_stays_away_is_an_error_that_says_how(error, pauses):
    with pytest.raises(StoreError, match=rf"Redis did not do it \({type(error).__name__}\)") as told:
        ask(Server(*[error] * 2), patience=0)
    assert told.value.__cause__ is error
    assert pauses == []


@pytest.mark.parametrize("before", [[], AWAY[:2]])
def test_one_that_says_no_is_not_asked_again(before, pauses):
    """Nobody knows what it has done: to ask again might do it twice."""
    server = Server(*before, redis.ResponseError("no"))
    with pytest.raises(StoreError, match=r"Redis did not do it \(ResponseError\)"):
        ask(server)
    assert server.asked == len(pauses) + 1 == len(before) + 1


def test_a_mistake_of_ours_is_none_of_redis(pauses):
    with pytest.raises(ZeroDivisionError):
        ask(Server(ZeroDivisionError()))
    assert pauses == []


def test_looking_ends_with_what_suffices_or_with_patience(pauses):
    found = iter(range(100))

    async def look():
        return next(found)

    assert asyncio.run(look_until(look, lambda number: number == 9, 1000.0)) == 9
    assert pauses == [min(SHORTEST * 2**n, LONGEST) for n in range(9)]
    assert asyncio.run(look_until(look, lambda _: False, 0)) == 10


@pytest.mark.parametrize(
    ("options", "is_fine"),
    [
        ({"lease": 0.5, "patience": 0}, True),
        ({"lease": 0}, False),
        ({"lease": -1}, False),
        ({"lease": float("nan")}, False),
        ({"patience": -1}, False),
        ({"patience": float("nan")}, False),
        ({"prefix": "a:b-c_d.e"}, True),
        ({"prefix": "a b"}, False),
        ({"prefix": ""}, False),
    ],
)
def test_what_a_transport_is_made_with(options, is_fine):
    if is_fine:
        RedisStreams(URL, **options)
    else:
        with pytest.raises(UsageError):
            RedisStreams(URL, **options)
