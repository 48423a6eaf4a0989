"""An agent that pays an invoice and needs a person for it; the person answers from another process.

    python examples/approval/agent.py sessions.db
    accord review list sessions.db
    accord review decide sessions.db invoice-17 REVIEW examples/approval/approval.accord --by ana
    python examples/approval/agent.py sessions.db

The first run reads the invoice, wants to pay, and ends, because a person has to be asked first: the session waits in
the store, not in a process. `accord review decide` shows what is asked and takes the answer: `allow`, `deny`, or
`modify` with another payload. The second run goes on where the first one stopped, pays once with exactly what was
allowed, or reports that it may not. A third one finds nothing left to do.

Nothing here needs a network: the model is a script. All it knows is what it hears, as a real one would.

Exit status: 0 the invoice is dealt with · 1 it is not · 3 the agent waits for a person.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from accord import Guard, SQLiteStore, ToolCall

if TYPE_CHECKING:
    from collections.abc import Callable

CONTRACT = Path(__file__).with_name("approval.accord")
KEY = "invoice-17"
INVOICE = {"number": 17, "total": 250, "iban": "DE02 1203 0000 0000 2020 51"}
DONE, FAILED, WAITING = 0, 1, 3


def read_invoice() -> dict[str, object]:
    """The tool that looks up the invoice."""
    return INVOICE


def pay(amount: float, iban: str) -> dict[str, object]:
    """The tool that must not run by mistake."""
    print(f"  *** {amount} EUR leave for {iban} ***")
    return {"receipt": "r-1"}


def report(text: str) -> str:
    """The tool that tells the user how it ended."""
    print(f"  the agent reports: {text}")
    return "told"


def model(heard: str) -> ToolCall | None:
    """The scripted model: the tool it calls after what it has heard, `None` when it can do nothing now."""
    if "needs the approval of a person" in heard:
        return None
    if "was denied by" in heard:
        return ToolCall("report", {"text": f"not paid. {heard}"})
    if "receipt" in heard:
        return ToolCall("report", {"text": "paid"})
    if "`read_invoice`" in heard:
        return ToolCall("read_invoice")
    if "`pay`" in heard or "total" in heard:
        # It remembers the invoice, as a real one would from its conversation.
        return ToolCall("pay", {"amount": INVOICE["total"], "iban": INVOICE["iban"]})
    return ToolCall("report", {"text": "paid"}) if "`report`" in heard else None


def main(path: str) -> int:
    """Let the agent work until it is done, or until a person has to decide."""
    tools: dict[str, Callable[..., object]] = {"read_invoice": read_invoice, "pay": pay, "report": report}
    with SQLiteStore(path) as store:
        guard = Guard(CONTRACT, store=store, key=KEY, tools=tools, review_lasts=24 * 3600)
        heard = guard.explain()
        while (call := model(heard)) is not None:
            print(f"agent: {call.name} {call.arguments}")
            heard = guard.run([call])[0].content
            print(f"  hears: {heard}")
        for review in guard.reviews():
            print(f"waiting for a person: accord review decide {path} {KEY} {review.id} {CONTRACT} --by YOU")
        if guard.reviews():
            return WAITING
        whole = store.verify(KEY).ok
        print(f"the session is {guard.status}, its ledger {'whole' if whole else 'BAD'}")
        return DONE if whole and guard.status == "complete" else FAILED


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} STORE")
    sys.exit(main(sys.argv[1]))
