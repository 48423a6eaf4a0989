"""The contracts of what is kept.

INVARIANT: they stay as they are; what was kept under them is known by their digests.
"""

from __future__ import annotations

__all__ = ["CONTRACTS"]

CONTRACTS = {
    "plain": "rec L.{!search.?found.L, !book.?booked.end}",
    "parts": "protocol P = (!a.?b.end | !log.?logged.end).!done.end",
    "data": """
protocol Pay = ?quote(total as t).rec Ask.{?Approval by human.Ask, !pay(amount <= t).?receipt.end}
""",
    "rules": """
protocol P = rec L.{!look.L, !pay.L, ?Approval by human.L, !bye.end}
rule "look first" { before pay require look }
rule "one approval each" { before each pay(amount > 100) require Approval by human }
rule "twice at most" { at most 2 pay }
""",
    "rules_only": """
rule "verified first" { before lookup require verify }
rule "no more after" { after bye forbid lookup }
""",
    "time": """
protocol T = !ask.?answer within 60s else (!remind.end).!thank.end
rule "thanked in time" { within 2h after answer require thank }
""",
    "slices": """
protocol Ticket = each ticket_id: ?Opened.!AskRefund.?Approved by human within 24h else (!Escalate.end).!Refund.end
rule "taken up in time" { each ticket_id: within 4h after Opened require AskRefund }
""",
    "roles": """
protocol Travel {
    Traveller -> Agent: Request
    rec Search {
        Agent -> Airline: Query
        choice at Airline { Airline -> Agent: Seats; Agent -> Traveller: Offer }
        or { Airline -> Agent: Busy; continue Search }
        or crash Airline { Agent -> Traveller: Sorry }
    }
}
""",
    "invoice": """
protocol Invoice = !read.?read(total as due).rec Decide
    .{?Approval by human.Decide, !pay(amount <= due).?pay.Decide, !report.end}
rule "a person approves large payments" { before each pay(amount > 100) require Approval by human }
""",
    "events": """
events {
    Confirmed when user says matches "(?i)\\\\byes\\\\b"
    Look when call get_invoice
    Pay when call pay_invoice
}
rule "look first" { before each Pay require Look }
rule "confirmed" { before each Pay require Confirmed }
""",
}
