"""A scripted agent that books trips, recorded: `python examples/traces/trip_agent.py base.jsonl`.

With `--hasty` it books the second trip without a quote and asks for the first one in another way. That is what
`accord trace diff` finds.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from accord import AgentProbe
from accord.trace import JsonlSink

HERE = Path(__file__).parent
PRICES = {"Rome": 120, "Oslo": 90}


def search(city: str) -> list[dict[str, Any]]:
    """Trips to a city."""
    return [{"trip": f"{city}-1", "price": PRICES[city], "request_id": id(city)}]  # an id that is another one each time


def quote(trip: str, seats: int) -> dict[str, Any]:
    """What a trip costs."""
    return {"trip": trip, "total": seats * PRICES[trip.partition("-")[0]]}


def book(trip: str, total: int) -> str:
    """Book a trip."""
    return f"booked {trip} for {total}"


def agent(city: str, tools: dict[str, Any], *, hasty: bool) -> str:
    """Find a trip, ask what it costs, and book it."""
    (found,) = tools["search"](city=city)
    if hasty and city == "Oslo":
        return str(tools["book"](trip=found["trip"], total=1))
    offer = tools["quote"](trip=found["trip"], seats=3 if hasty else 2)
    return str(tools["book"](trip=found["trip"], total=offer["total"]))


def main(path: str, *, hasty: bool = False) -> None:
    """Two runs, written to a file."""
    with JsonlSink(path) as sink:
        probe = AgentProbe(tools=[search, quote, book], trace_config=HERE / "trace.yaml", sink=sink)
        for city in ("Rome", "Oslo"):
            result = probe.run(lambda data, tools: agent(data, tools, hasty=hasty), city, example_id=city)
            print(f"{city}: {result.output}; violations: {len(result.violations)}")


if __name__ == "__main__":
    main(sys.argv[1], hasty="--hasty" in sys.argv)
