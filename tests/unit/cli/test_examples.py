"""The examples are in order, and the payment contract does what its comments say."""

from __future__ import annotations

from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[3] / "examples"
PAYMENT = EXAMPLES / "payment" / "payment.accord"

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
            "since the last one, `Approval by human` has not happened",
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
