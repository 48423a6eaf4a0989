"""The examples are in order, and the contracts about payments and support do what their comments say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[3] / "examples"
PAYMENT = EXAMPLES / "payment" / "payment.accord"
SUPPORT = EXAMPLES / "support" / "support.accord"

QUOTE = '!AskQuote ?Quote {"total": 250, "currency": "EUR"}'
APPROVAL = "!AskApproval ?Approval by ana"
RECEIPT = '?Receipt {"id": "r1"} !File {"receipt": "r1"}'


def pay(amount, currency="EUR"):
    return f'!Pay {{"amount": {amount}, "currency": "{currency}"}}'


def test_examples_are_in_order(accord):
    assert accord("check", EXAMPLES).exit_code == 0
    assert accord("fmt", "--check", EXAMPLES).exit_code == 0


@pytest.mark.parametrize(
    "events",
    [
        (QUOTE, pay(100), RECEIPT, "end"),
        (QUOTE, APPROVAL, pay(250), RECEIPT, QUOTE, pay(99.5), RECEIPT, QUOTE, APPROVAL, pay(101), RECEIPT, "end"),
        (QUOTE, APPROVAL, pay(250), "?Failure !Retry ?Failure !Retry ?Failure !Retry", RECEIPT, "end"),
        (QUOTE, pay(5), "?Failure !GiveUp end"),
        (QUOTE, "!AskApproval ?Refusal by ana end"),
    ],
)
def test_a_payment_that_keeps_the_contract(accord, events):
    result = accord("replay", PAYMENT, *events)
    assert result.exit_code == 0, result.stdout
    assert "complete" in result.stdout


@pytest.mark.parametrize(
    ("events", "complaint"),
    [
        ((QUOTE, pay(101)), "refused by the rule `one approval per large payment`"),
        ((QUOTE, pay('"101"')), "`amount <= price` does not hold"),
        ((QUOTE, APPROVAL, pay(251)), "the register holds 250"),
        ((QUOTE, pay(5, "USD")), 'the register holds "EUR"'),
        ((QUOTE, "!Pay"), "needs the field `amount`"),
        ((QUOTE, "!AskApproval ?Approval"), "only a person can make this step"),
        (
            (QUOTE, APPROVAL, pay(250), RECEIPT, QUOTE, pay(250)),
            "then a person must approve (`Approval`), then `Pay`",
        ),
        ((QUOTE, pay(5), "?Failure !Retry " * 3, "?Failure !Retry"), "refused by the rule `at most three retries`"),
        ((QUOTE, pay(5), '?Receipt {"id": "r1"} !File {"receipt": "r2"}'), 'the register holds "r1"'),
        ((QUOTE, pay(5), "end"), "still owed"),
    ],
)
def test_a_payment_that_breaks_it(accord, events, complaint):
    result = accord("replay", PAYMENT, *events)
    assert result.exit_code == 1
    *_, violation, explanation, _ = result.stdout.splitlines()
    assert "VIOLATION" in violation
    assert complaint in explanation


HOUR = 3600


def ticket(hours, word, number=1, **fields):
    label, _, by = word.partition(" by ")
    payload = json.dumps({"ticket_id": f"t-{number}", **fields})
    return f"@{hours * HOUR} {label} {payload}" + (f" by {by}" if by else "")


OPENED = ticket(0, "?Opened")
ASKED = ticket(1, "!AskRefund", amount=40)


@pytest.mark.parametrize(
    "events",
    [
        (OPENED, ticket(4, "!Reply"), ticket(76, "?Solved")),
        (OPENED, ticket(4, "!Reply"), ticket(76.5, "!Close")),
        (OPENED, ASKED, ticket(25, "?Approved by ana"), ticket(30, "!Refund", amount=40), ticket(30, "!Close")),
        (OPENED, ASKED, ticket(26, "!Escalate"), ticket(90, "?Denied by bob"), ticket(90, "!Close")),
        (OPENED, ticket(1, "?Opened", 2), ticket(2, "!Close"), ticket(5, "!Close", 2)),
        (OPENED, ticket(1, "!LookUp"), "@4000 !Log", ticket(2, "!Close")),
    ],
)
def test_tickets_that_keep_the_contract(accord, events):
    result = accord("replay", SUPPORT, *events, f"@{1000 * HOUR} end")
    assert result.exit_code == 0, result.stdout
    assert "complete" in result.stdout


@pytest.mark.parametrize(
    ("events", "complaint"),
    [
        ((OPENED, f"@{4 * HOUR + 1} tick"), 'is overdue for `ticket_id "t-1"`: it was due until 14400'),
        ((OPENED, ticket(5, "?Opened", 2)), "`Opened` is not taken, and was not judged"),
        ((OPENED, ticket(1, "!Refund", amount=1)), "first `AskRefund`, then a person must approve (`Approved`)"),
        ((OPENED, ASKED, ticket(2, "?Approved")), "only a person can make this step"),
        ((OPENED, ASKED, ticket(26, "?Approved by ana")), 'too late for `ticket_id "t-1"`: it was due until 90000'),
        ((OPENED, ASKED, ticket(2, "?Approved by ana"), ticket(3, "!Refund", amount=41)), "the register holds 40"),
        ((OPENED, ticket(1, "!Close"), ticket(2, "!Reply")), '`ticket_id "t-1"` is finished'),
        ((OPENED, ticket(1, "!Close"), ticket(2, "?Opened")), '`ticket_id "t-1"` is finished'),
        ((OPENED, ticket(1, "!Reply", 2)), '`ticket_id "t-2"`, which is new'),
        ((OPENED, "@1 !Close"), "the field `ticket_id`, which says what it is about, is missing"),
        ((OPENED, ticket(1, "!Reply"), "@4000 end"), "1 instance is not finished. Still owed is `Answer` or"),
        (
            (
                OPENED,
                *[
                    ticket(1, word, amount=1)
                    for word in ("!AskRefund", "?Approved by ana", "!Refund") * 3
                ],
            ),
            "refused by the rule `two refunds a ticket`",
        ),
    ],
)  # fmt: skip
def test_tickets_that_break_it(accord, events, complaint):
    result = accord("replay", SUPPORT, *events)
    assert result.exit_code == 1
    *_, violation, explanation, _ = result.stdout.splitlines()
    assert "VIOLATION" in violation
    assert complaint in explanation
