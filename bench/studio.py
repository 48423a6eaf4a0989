"""What a step on the studio's page costs: from the request as it comes over the wire to the last byte of the answer.

A server listens on this machine, as `accord studio` starts it, and a client keeps one connection to it. A step is the
contract, all events so far and one more. It is measured early in a walk and late in one, and in a machine of a
thousand states. The median counts, and the slowest is told: what somebody waits for is what they notice.
"""

from __future__ import annotations

import http.client
import json
import threading
from dataclasses import dataclass
from time import perf_counter

from accord.studio.bounds import DEFAULT_BOUNDS
from accord.studio.files import Files
from accord.studio.opened import Studio
from accord.studio.serving import listen, server_of
from accord.studio.workers import Workers
from accord.templates import template

__all__ = ["STEPS", "StudioCosts", "measure_studio"]

_ROUNDS = 40
_TOKEN = "a-token-for-benchmarks"  # noqa: S105 - it protects nothing

_LARGE = ".".join(f"!s{number}" for number in range(1_000)) + ".end"
STEPS: dict[str, tuple[str, list[str]]] = {
    "the first step of a template": (template("payment").text, ["!ask_quote"]),
    "the 500th step": ("rec L.!a.?b.L", ["!a", "?b"] * 250),
    "the 500th of 1,001 states": (_LARGE, [f"!s{number}" for number in range(500)]),
}
"""What is walked: the contract, and the events, of which the last is the step."""


@dataclass(frozen=True, slots=True)
class StudioCosts:
    """Seconds until a step was answered: half of the rounds took no longer, and none of them."""

    median: dict[str, float]
    slowest: dict[str, float]


def measure_studio() -> StudioCosts:
    """Start a studio, step, and end it."""
    studio = Studio(Files((), DEFAULT_BOUNDS.limits, writable=False))
    with listen(0) as listener, Workers(DEFAULT_BOUNDS) as workers:
        port = listener.getsockname()[1]
        server = server_of(studio, DEFAULT_BOUNDS, workers, _TOKEN, port)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            times = {name: _steps(port, text, events) for name, (text, events) in STEPS.items()}
        finally:
            server.should_exit = True
            thread.join()
    return StudioCosts(
        {name: sorted(of)[len(of) // 2] for name, of in times.items()}, {name: max(of) for name, of in times.items()}
    )


def _steps(port: int, text: str, events: list[str]) -> list[float]:
    client = http.client.HTTPConnection("127.0.0.1", port)
    walked, step = json.dumps({"text": text, "events": events[:-1]}), json.dumps({"text": text, "events": events})
    taken = []
    for _ in range(_ROUNDS):
        _ask(client, walked)  # so that each round takes the step anew
        start = perf_counter()
        answer = _ask(client, step)
        taken.append(perf_counter() - start)
        if answer["turns"][-1]["verdict"] != "ok":
            raise RuntimeError(f"the step was not taken: {answer['turns'][-1]}")
    client.close()
    return taken


def _ask(client: http.client.HTTPConnection, body: str) -> dict[str, list[dict[str, str]]]:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {_TOKEN}"}
    client.request("POST", "/api/walk", body, headers)
    answer: dict[str, list[dict[str, str]]] = json.loads(client.getresponse().read())
    return answer
