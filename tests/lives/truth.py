"""What must hold of payments whatever broke: what really happened, held against what the session and its ledger say.

Each thing that a tool really did is an `Effect`, told by the tool itself at the moment when it does it.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, NamedTuple

from accord import Guard, NotDone, Ok, ToolCall, compile
from accord.calls.entries import Passing
from accord.calls.worlds import parts, take
from accord.stores.store import Store
from tests.lives.keeping import Replayed

PER_ORDER = 6
CONTRACT = compile(f"""
    rule "per order" {{ each order: at most {PER_ORDER} pay }}
    rule "verified" {{ each order: before each pay require ?verify(ok == true) }}
    rule "large ones" {{ before each pay(amount > 100) require Approval by human }}
    rule "in all" {{ at most 100000 pay }}
    tools {{ verify fails undone }}
""")
LARGE = 100
INTERRUPTED = "it was interrupted"


class BrokenError(Exception):
    """Something has happened that must not."""


class Effect(NamedTuple):
    """What a tool did: under which id, and whether a verification came out well."""

    tool: str
    id: str
    order: int
    amount: int = 0
    ok: bool = True


def check(store: Store, key: str, effects: list[Effect], now: float, *, ended: bool) -> str:
    """What really happened was allowed, is known, and the session can go on; a word about what was left to resolve.

    `ended`: nobody works in the session any more, so that what is still out can be resolved by what is known.
    """
    _check_order(effects)
    if store.session(key) is None:
        _demand(not effects, f"{effects} and no session")
        return "nothing"
    _demand(store.verify(key).ok, f"the ledger does not verify: {store.verify(key)}")
    entries = [json.loads(line)["entry"] for line in store.ledger(key)]
    account = _Account(entries)
    for identity, times in Counter(effect.id for effect in effects if effect.tool == "pay").items():
        _demand(times <= account.admitted[identity], f"`{identity}` has happened {times} times: {account.admitted}")
    large = Counter((effect.order, effect.amount) for effect in effects if effect.amount > LARGE)
    for payload, times in large.items():
        _demand(times <= account.allowed[payload], f"{payload} was paid {times} times: {account.allowed}")
    return _go_on(store, key, effects, now) if ended else "still at work"


def _demand(holds: bool, why: str) -> None:
    if not holds:
        raise BrokenError(why)


def _check_order(effects: list[Effect]) -> None:
    """Each payment has a verification of its own before it, and no order is paid too often.

    Calls that are reserved run later than they were let go out, so which verification it is cannot be told from here.
    """
    verified: Counter[int] = Counter()
    paid: Counter[int] = Counter()
    for effect in effects:
        if effect.tool == "verify":
            verified[effect.order] += effect.ok
        else:
            paid[effect.order] += 1
            _demand(paid[effect.order] <= verified[effect.order], f"{effect} was not verified before: {effects}")
            _demand(paid[effect.order] <= PER_ORDER, f"{effect} is one payment too many")


class _Account:
    """What a ledger says: how often each call was let go out, and how often people have said yes to what."""

    def __init__(self, entries: list[dict[str, Any]]) -> None:
        self.admitted: Counter[str] = Counter()
        self.counted: Counter[str] = Counter()
        self.interrupted: Counter[str] = Counter()
        self.allowed: Counter[tuple[int, int]] = Counter()
        self.out: dict[str, str] = {}
        for entry in entries:
            if entry["act"] == "note":
                self.note(entry["what"], entry["detail"])
            elif entry["act"] == "attempt" and entry.get("verdict") == "ok":
                self.attempt(entry)

    def attempt(self, entry: dict[str, Any]) -> None:
        ticket = entry.get("meta", {}).get("call", "")
        if entry["event"] == "!pay":
            self.admitted[ticket] += 1
            self.out[ticket] = ticket
        elif entry["event"] == "?pay":
            self.ended(ticket, entry["payload"].get("error"))

    def ended(self, ticket: str, error: object) -> None:
        identity = self.out.pop(ticket, None)
        if identity is not None:
            self.counted[identity] += 1
            self.interrupted[identity] += error == INTERRUPTED

    def note(self, what: str, detail: dict[str, Any]) -> None:
        if what == "call renamed" and detail["call"] in self.out:
            self.out[detail["now"]] = self.out.pop(detail["call"])
        elif what == "call failed":
            self.out.pop(detail["call"], None)
        elif what == "call returned":
            self.ended(detail["call"], detail["result"].get("error"))
        elif what == "review decided" and detail.get("answer") in {"allow", "modify"} and detail["action"] == "pay":
            payload = detail.get("modified", detail["payload"])
            self.allowed[payload["order"], payload["amount"]] += 1


def _go_on(store: Store, key: str, effects: list[Effect], now: float) -> str:
    """Whoever knows says what became of what is out; then the ledger says what has happened, and a next step works."""
    done: list[tuple[str, int]] = []
    guard = guard_of(store, key, lambda: now, lambda tool, order, *_: done.append((tool, order)) or {"ok": True})
    account = _Account([json.loads(line)["entry"] for line in store.ledger(key)])
    really = Counter(effect.id for effect in effects if effect.tool == "pay")
    out = guard.out()
    for call in out:
        identity = account.out.get(call.ticket, call.ticket)
        if call.name == "pay" and account.counted[identity] - account.interrupted[identity] < really[identity]:
            account.counted[identity] += 1
            _demand(isinstance(guard.settle(call.ticket, {"paid": True}), Ok), f"{call} cannot be settled")
        else:
            _demand(isinstance(guard.fail(call.ticket, NotDone("it has not happened")), Ok), f"{call} cannot fail")
    _demand(not guard.out(), f"still out: {guard.out()}")
    if guard.stopped is not None:
        guard.resume(by="ana", reason="it was looked at")
    for review in [review for review in guard.reviews() if review.gate is None]:
        guard.decide(review.id, "allow", by="ana")
    entries = [json.loads(line)["entry"] for line in store.ledger(key)]
    account = _Account(entries)
    for identity in {*account.counted, *really}:
        counted, kept = account.counted[identity], account.interrupted[identity]
        _demand(
            counted - kept <= really[identity] <= counted,
            f"`{identity}` has happened {really[identity]} times; the ledger says {counted}, {kept} interrupted",
        )
    replayed = Replayed(CONTRACT, entries).situation
    there, here = (set(parts(take(one, Passing(now))[0], None)) for one in (replayed, guard._session.state().settled))
    _demand(there == here, f"the ledger leads to {there - here}, and the session stands at {here - there}")
    fresh = 10**6 + len(entries)
    calls = [
        ToolCall("verify", {"order": fresh}, f"v{fresh}"),
        ToolCall("pay", {"order": fresh, "amount": 1}, f"p{fresh}"),
    ]
    results = [result for call in calls for result in guard.run([call])]
    _demand([result.ok for result in results] == [True, True], f"nobody can go on: {results}")
    return "resolved" if out else "nothing was left"


def guard_of(store: Store, key: str, clock: Any, work: Any, **options: Any) -> Guard:
    """A guard whose tools tell `work` what they are to do."""
    tools = {
        "verify": lambda order: work("verify", order, 0),
        "pay": lambda order, amount: work("pay", order, amount),
    }
    return Guard(CONTRACT, store=store, key=key, tools=tools, clock=clock, patience=10**6, **options)
