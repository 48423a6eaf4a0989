"""A team of scripted agents under one contract: who breaks it is named, before the message is delivered.

Run it: `python examples/travel_team/team.py`.
"""

from __future__ import annotations

from pathlib import Path

import accord
from accord import Monitor, Session, Violation

HERE = Path(__file__).parent

REQUEST: dict[str, object] = {"city": "Rome", "day": "Monday"}
OFFER = {"flight": "AZ1", "price": 120, "class": "economy"}
CONVERSATION: list[tuple[str, str, str, dict[str, object] | None]] = [
    ("Traveller", "Agent", "Request", REQUEST),
    ("Agent", "Airline", "Query", None),
    ("Airline", "Agent", "Busy", None),
    ("Agent", "Airline", "Query", None),
    ("Airline", "Agent", "Seats", None),
    ("Agent", "Airline", "Book", None),  # nobody has accepted yet
    ("Agent", "Traveller", "Offer", {**OFFER, "price": "cheap"}),  # no price
    ("Agent", "Traveller", "Offer", OFFER),
    ("Traveller", "Agent", "Accept", None),
    ("Agent", "Airline", "Book", None),
    ("Agent", "Log", "Booked", None),
    ("Airline", "Traveller", "Ticket", None),
]


def main() -> None:
    """Play the conversation, then show what one role has to follow alone."""
    contract = accord.load(HERE / "travel.accord")
    session = Session(contract, mode="refuse")
    for sender, receiver, label, payload in CONVERSATION:
        verdict = session.observe(sender, receiver, label, payload)
        print(f"{sender} -> {receiver}: {label}".ljust(32), "refused" if isinstance(verdict, Violation) else "ok")
        if isinstance(verdict, Violation):
            print(f"    {verdict.role} is to blame. {verdict.explain()}")
    print(f"closed: {session.close()!r}")
    airline = Monitor(accord.project(contract, "Airline"), mode="refuse")
    print(f"the airline alone waits for: {airline.allowed()}")


if __name__ == "__main__":
    main()
