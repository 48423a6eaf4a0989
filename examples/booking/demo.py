"""A flight-booking agent that skips the approval, is stopped, is told why, and then does it right.

Run it with `make demo`. Nothing here needs a network: the model is a script that behaves like a hasty one. It wants to
book as soon as it has seen a flight; when it is refused, it does what the explanation says and remembers it. Everything
around it is what a real agent would have: tools, a loop, and the contract in `booking.accord` between the two.

The exit status is 0 only if the contract really held: one booking, after the approval, and no tool run for the refused
call.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from accord import Monitor, Ok

CONTRACT = Path(__file__).with_name("booking.accord")

# The first flight is refused by the user, the second one approved.
FLIGHTS = ("LH 401 at 06:10, 212 EUR", "LH 417 at 11:45, 264 EUR")
ANSWERS = (("UserRefusal", "06:10 is too early for me"), ("UserApproval", "yes, book that one"))


@dataclass
class World:
    """What really happened, in order: every tool that ran and every answer of the user."""

    happened: list[str] = field(default_factory=list)

    def run(self, tool: str) -> tuple[str, str]:
        """Run a tool: what comes back, as the contract calls it, and what it says."""
        self.happened.append(tool)
        attempt = self.happened.count("SearchFlights") - 1
        if tool == "SearchFlights":
            return "FlightResults", FLIGHTS[attempt]
        if tool == "PresentOptions":
            answer, words = ANSWERS[attempt]
            self.happened.append(answer)
            return answer, words
        return "BookingConfirmation", f"paid and booked: {FLIGHTS[attempt]}"


def model(heard: list[str]) -> str | None:
    """The scripted model: the tool it calls after all it has heard so far, or `None` when it is done."""
    last = heard[-1] if heard else ""
    if last.startswith("refused"):
        remedy = re.search(r"first `(\w+)`", last)
        return remedy[1] if remedy else None
    if last in {"", "UserRefusal"}:
        return "SearchFlights"
    if last == "FlightResults":
        # The mistake: it books although nobody has been asked, until it has been told once.
        return "PresentOptions" if any(text.startswith("refused") for text in heard) else "BookFlight"
    return "BookFlight" if last == "UserApproval" else None


def say(console: Console, who: str, what: str, style: str = "") -> None:
    """Print one thing that happened. The text is shown as it is, never read as markup."""
    row = Table.grid(padding=(0, 1))
    row.add_column(width=9)
    row.add_row(Text(who, style or "cyan"), Text(what, style))
    console.print(row)


def guarded_call(monitor: Monitor, world: World, tool: str, console: Console) -> str:
    """Ask the contract, run the tool only if it agrees, and return what the model gets to hear."""
    say(console, "agent", f"calls {tool}")
    verdict = monitor.send(tool)
    if not isinstance(verdict, Ok):  # whatever else the answer is, it is not yes
        say(console, "contract", f"refuses it; {tool} has run {world.happened.count(tool)} times", "bold red")
        say(console, "", verdict.explain(), "red")
        return f"refused: {verdict.explain()}"
    label, words = world.run(tool)
    who = "user" if label.startswith("User") else "tool"
    say(console, who, f"{label}: {words}", {"UserRefusal": "yellow", "UserApproval": "green"}.get(label, ""))
    answer = monitor.receive(label)
    return label if isinstance(answer, Ok) else f"refused: {answer.explain()}"


def what_went_wrong(monitor: Monitor, world: World, refused: list[str]) -> list[str]:
    """Every way in which the run was not what this demonstration claims."""
    happened = world.happened
    checks = {
        "BookFlight ran exactly once": happened.count("BookFlight") == 1,
        "it ran right after the user's approval": happened[-2:] == ["UserApproval", "BookFlight"],
        "exactly one call was refused, the booking without approval": refused == ["BookFlight"],
        "the model attempted to book twice": monitor.trace.count("!BookFlight") == 2,
        "the session ended as the contract says": isinstance(monitor.close(), Ok) and monitor.status == "complete",
    }
    return [f"this should hold and does not: {claim}" for claim, holds in checks.items() if not holds]


def main() -> int:
    """Run the agent to its end and check what it really did."""
    console = Console(highlight=False)
    console.print(Text("A flight-booking agent under contract", "bold"))
    console.print(Text(CONTRACT.read_text(encoding="utf-8").strip(), "dim"), end="\n\n")
    monitor, world = Monitor(CONTRACT, mode="refuse"), World()
    heard: list[str] = []
    refused: list[str] = []
    while (tool := model(heard)) is not None:
        heard.append(guarded_call(monitor, world, tool, console))
        if heard[-1].startswith("refused"):
            refused.append(tool)
    console.print()
    wrong = what_went_wrong(monitor, world, refused)
    for complaint in wrong:
        say(console, "failed", complaint, "bold red")
    if not wrong:
        say(console, "done", "booked once, after the approval; the refused call never reached the tool", "bold green")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
