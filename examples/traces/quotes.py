"""A validator of your own: what is booked costs what was quoted, and no quote is left lying.

`PYTHONPATH=examples/traces accord trace validate examples/traces/hasty.jsonl --config examples/traces/quotes.yaml
--allow-imports` holds a trace to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.trace import TraceEvent, TraceValidator, Violation

if TYPE_CHECKING:
    from collections.abc import Iterator


class BookedAsQuoted(TraceValidator):
    """Totals by trip, as they were quoted; one object of this class for each run."""

    def __init__(self, most: float = 0) -> None:
        self.most = most
        self.quoted: dict[str, float] = {}
        self.open: dict[str, int] = {}

    def event(self, event: TraceEvent) -> Iterator[Violation]:
        """A quote is remembered; a booking is compared with it."""
        tool = event.payload.get("tool_name")
        if event.kind == "tool_result" and tool == "quote":
            trip = event.payload["result"]["trip"]
            self.quoted[trip] = event.payload["result"]["total"]
            self.open[trip] = event.seq
        if event.kind == "tool_call_start" and tool == "book":
            trip, total = event.payload["arguments"]["trip"], event.payload["arguments"]["total"]
            self.open.pop(trip, None)
            quoted = self.quoted.get(trip)
            if quoted is None or abs(total - quoted) > self.most:
                said = "was never quoted" if quoted is None else f"was quoted at {quoted}"
                yield Violation(
                    "NOT_AS_QUOTED", event.seq, f"{trip} is booked for {total} and {said}", context={"trip": trip}
                )

    def end(self) -> Iterator[Violation]:
        """What was quoted and not booked is said of the quote."""
        for trip, seq in self.open.items():
            yield Violation("QUOTE_LEFT", seq, f"{trip} was quoted and never booked", context={"trip": trip})
