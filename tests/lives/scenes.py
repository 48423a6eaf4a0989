"""The scenes of long lives: contracts as they are in use, each with an account that says what may happen under it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any, ClassVar

from tests.lives.account import Account, Arguments, Call, Gates

ORDERS, BUDGET, PER_ORDER = 20, 300, 25


@dataclass
class Payments(Account):
    """Orders are verified and paid; large payments need a person; there are budgets."""

    paid: Counter[int] = field(default_factory=Counter)
    last_paid: Counter[int] = field(default_factory=Counter)
    verified: Counter[int] = field(default_factory=Counter)

    contract = f"""
        rule "budget" {{ at most {BUDGET} pay }}
        rule "per order" {{ each order: at most {PER_ORDER} pay }}
        rule "verified" {{ each order: before each pay require ?verify(ok == true) }}
        rule "large ones" {{ before each pay(amount > 100) require Approval by human }}
    """
    tools: ClassVar[dict[str, str]] = {"pay": "unknown", "verify": "undone"}
    constructs: ClassVar[dict[str, tuple[str, ...]]] = {
        "pay": ("budget", "slice", "gate", "result"),
        "verify": ("slice", "result"),
    }

    def wish(self, rng: Random) -> tuple[str, Arguments]:
        order = rng.randrange(ORDERS)
        is_ready = self.verified[order] > self.last_paid[order]
        if rng.random() < (0.15 if is_ready else 0.85):
            return "verify", {"order": order}
        return "pay", {
            "order": order,
            "amount": rng.choice((10, 20, 30, 40, 150, 500)) if rng.random() < 0.98 else "10",
        }

    def result(self, rng: Random, call: Call) -> dict[str, Any]:
        return {"ok": rng.random() < 0.9} if call.tool == "verify" else super().result(rng, call)

    def other(self, rng: Random, arguments: Arguments) -> Arguments:
        return {**arguments, "amount": rng.choice((150, 250, 350))}

    def needs(self, tool: str, arguments: Arguments) -> Gates | None:
        if tool == "verify":
            return ()
        order, others = arguments["order"], self.possible("pay", order=arguments["order"])
        if not isinstance(arguments["amount"], int):
            return None  # nobody can say whether it is large
        if sum(self.paid.values()) + len(self.possible("pay")) >= BUDGET:
            return None
        if self.paid[order] + len(others) >= PER_ORDER:
            return None
        if self.verified[order] <= max([self.last_paid[order], *(call.place for call in others)]):
            return None
        return ("Approval",) if arguments["amount"] > 100 else ()

    def happened(self, call: Call, result: dict[str, Any]) -> None:  # noqa: ARG002 - it counts whatever it returned
        if call.tool == "pay":
            order = call.arguments["order"]
            self.paid[order] += 1
            self.last_paid[order] = max(self.last_paid[order], call.place)

    def ended(self, call: Call, result: dict[str, Any]) -> bool:
        if call.tool == "verify" and result.get("ok") is True:
            self.verified[call.arguments["order"]] = self.place
        return True


TRANSFERS = 60


@dataclass
class Transfers(Account):
    """Two people allow each transfer; of the largest a note was made before."""

    wired: int = 0
    noted: bool = False

    contract = f"""
        rule "transfers" {{ at most {TRANSFERS} wire }}
        rule "two people" {{ before each wire require all of [Finance by human, Lead by human] }}
        rule "noted" {{ before wire(amount > 900) require ?note }}
        tools {{ note fails done }}
    """
    tools: ClassVar[dict[str, str]] = {"wire": "unknown", "note": "done"}
    constructs: ClassVar[dict[str, tuple[str, ...]]] = {"wire": ("budget", "two gates", "result"), "note": ("result",)}

    def wish(self, rng: Random) -> tuple[str, Arguments]:
        if rng.random() < 0.3:
            return "note", {"text": "so far so good"}
        return "wire", {"to": rng.randrange(40), "amount": rng.choice((200, 400, 950)) if rng.random() < 0.9 else 100}

    def other(self, rng: Random, arguments: Arguments) -> Arguments:
        return {**arguments, "amount": rng.choice((150, 250, 350))}

    def needs(self, tool: str, arguments: Arguments) -> Gates | None:
        if tool == "note":
            return ()
        full = self.wired + len(self.possible("wire")) >= TRANSFERS
        return None if full or (arguments["amount"] > 900 and not self.noted) else ("Finance", "Lead")

    def happened(self, call: Call, result: dict[str, Any]) -> None:  # noqa: ARG002 - it counts whatever it returned
        self.wired += call.tool == "wire"

    def ended(self, call: Call, result: dict[str, Any]) -> bool:  # noqa: ARG002 - the same
        self.noted = self.noted or call.tool == "note"
        return True


FLIGHTS, CONFIRMED = 12, 300


@dataclass
class Bookings(Account):
    """Each booking follows a protocol of its own, with the price that was found."""

    stands: dict[int, str] = field(default_factory=dict)
    price: dict[int, int] = field(default_factory=dict)
    confirmed: int = 0

    contract = f"""
        protocol Booking = each booking: rec Again . !search . ?search(price as p)
            . !{{
                hold(price <= p) . ?hold . !{{ confirm . ?confirm . Again, release . ?release . Again }},
                drop . ?drop . Again
            }}
        rule "so many" {{ at most {CONFIRMED} confirm }}
        tools {{ hold fails unknown  release fails done  [search, drop] fails undone }}
    """
    tools: ClassVar[dict[str, str]] = {
        "search": "undone",
        "hold": "unknown",
        "confirm": "unknown",
        "release": "done",
        "drop": "undone",
    }
    constructs: ClassVar[dict[str, tuple[str, ...]]] = {
        "search": ("slice", "data"), "hold": ("slice", "data"), "confirm": ("slice", "budget"), "release": ("slice",),
        "drop": ("slice",),
    }  # fmt: skip
    events = ("search",)

    def wish(self, rng: Random) -> tuple[str, Arguments]:
        booking = rng.randrange(FLIGHTS)
        here = {"": ("search",), "found": ("hold", "hold", "drop"), "held": ("confirm", "release")}
        likely = here.get(self.stands.get(booking, ""), ("search",))
        tool = rng.choice(likely if rng.random() < 0.85 else (*self.tools,))
        price = rng.randrange(100)
        known = self.price.get(booking)
        if known is not None and rng.random() < 0.8:
            price = rng.randrange(known + 1)
        return tool, {"booking": booking, "price": price} if tool == "hold" else {"booking": booking}

    def result(self, rng: Random, call: Call) -> dict[str, Any]:
        return {"price": rng.randrange(100)} if call.tool == "search" and rng.random() < 0.98 else {}

    def saying(self, rng: Random) -> tuple[str, dict[str, Any]] | None:
        waiting = [booking for booking, where in self.stands.items() if where == "search has ended badly"]
        if not waiting:
            return None
        return "search", {"booking": rng.choice(waiting), "price": rng.randrange(100)}

    def needs(self, tool: str, arguments: Arguments) -> Gates | None:
        booking = arguments["booking"]
        if self.possible(*self.tools, booking=booking):
            return None  # whatever becomes of that call, something else is next
        if tool == "confirm" and self.confirmed + len(self.possible("confirm")) >= CONFIRMED:
            return None
        before = {"search": "", "hold": "found", "drop": "found", "confirm": "held", "release": "held"}
        if self.stands.get(booking, "") != before[tool]:
            return None
        return None if tool == "hold" and arguments["price"] > self.price[booking] else ()

    def happened(self, call: Call, result: dict[str, Any]) -> None:  # noqa: ARG002 - the end says where it leads
        self.confirmed += call.tool == "confirm"

    def ended(self, call: Call, result: dict[str, Any]) -> bool:
        booking = call.arguments["booking"]
        if call.tool == "search":
            if "price" not in result:
                self.stands[booking] = "search has ended badly"
                return False
            self.price[booking] = result["price"]
        self.stands[booking] = {"search": "found", "hold": "held"}.get(call.tool, "")
        return True

    def said(self, what: str, payload: dict[str, Any]) -> bool:
        super().said(what, payload)
        self.stands[payload["booking"]], self.price[payload["booking"]] = "found", payload["price"]
        return True


REFUNDS, MISSES = 300, 300


@dataclass
class Support(Account):
    """One conversation after the other: the protocol begins again, what rules have counted stays."""

    stands: str = "new"
    refunded: int = 0
    missed: int = 0
    agreed: int = 0
    last_refund: int = 0

    contract = f"""
        protocol Support = !greet . ?greet
            . rec Talk . !{{ lookup . ?lookup . Talk, refund . ?refund . Talk, bye . ?bye . end }}
        rule "agreed" {{ before each refund require ?Yes }}
        rule "refunds" {{ at most {REFUNDS} refund }}
        rule "misses" {{ before lookup require at most {MISSES} ?lookup(found == false) }}
        events {{ Yes when user says matches "(?i)\\\\byes\\\\b"  as named otherwise }}
        tools {{ [greet, lookup] fails undone  bye fails done }}
    """
    tools: ClassVar[dict[str, str]] = {"greet": "undone", "lookup": "undone", "refund": "unknown", "bye": "done"}
    constructs: ClassVar[dict[str, tuple[str, ...]]] = {
        "greet": ("loop", "restart"), "lookup": ("loop", "result", "budget"), "refund": ("loop", "budget", "said"),
        "bye": ("restart",),
    }  # fmt: skip
    options: ClassVar[dict[str, Any]] = {"when_over": "restart"}

    def wish(self, rng: Random) -> tuple[str, Arguments]:
        likely = {"new": ("greet",), "talking": ("lookup", "refund", "refund", "refund", "bye")}.get(
            self.stands, ("bye",)
        )
        tool = rng.choice(likely if rng.random() < 0.9 else (*self.tools,))
        return tool, {"n": rng.randrange(4)} if tool in {"lookup", "refund"} else {}

    def result(self, rng: Random, call: Call) -> dict[str, Any]:
        return {"found": rng.random() < 0.6} if call.tool == "lookup" else super().result(rng, call)

    def saying(self, rng: Random) -> tuple[str, dict[str, Any]] | None:
        return "user", {"text": rng.choice(("Yes, do that.", "yes", "No!", "I see."))}

    def needs(self, tool: str, arguments: Arguments) -> Gates | None:  # noqa: ARG002 - the arguments do not matter
        if [call for call in self.out if not call.lost] or self.possible("greet", "bye"):
            return None  # its end comes first
        if self.stands != ("new" if tool == "greet" else "talking"):
            return None
        if tool == "lookup" and self.missed > MISSES:
            return None
        if tool == "refund":
            refunds = self.possible("refund")
            if self.refunded + len(refunds) >= REFUNDS:
                return None
            if self.agreed <= max([self.last_refund, *(call.place for call in refunds)]):
                return None
        return ()

    def happened(self, call: Call, result: dict[str, Any]) -> None:  # noqa: ARG002 - it counts whatever it returned
        if call.tool == "refund":
            self.refunded += 1
            self.last_refund = max(self.last_refund, call.place)

    def ended(self, call: Call, result: dict[str, Any]) -> bool:
        self.missed += call.tool == "lookup" and result.get("found") is not True  # what nobody knows is none
        self.stands = {"greet": "talking", "bye": "over"}.get(call.tool, self.stands)
        return True

    def said(self, what: str, payload: dict[str, Any]) -> bool:
        super().said(what, payload)
        if self.stands == "over" and not self.possible("greet", "bye"):
            self.stands = "new"
        if "yes" in payload["text"].lower():
            self.agreed = self.place
        return True

    def owes(self) -> bool:
        return self.stands in {"talking", "waiting"}


FILES, COMMITS = 15, 130


@dataclass
class Coding(Account):
    """A coding agent reads before it edits, and commits what was tested; an edit is never committed at once."""

    read: set[int] = field(default_factory=set)
    committed: int = 0
    last_commit: int = 0
    tested: int = 0
    sends: list[tuple[str, Call | None]] = field(default_factory=list)
    """What was sent since the last that is certain; with it, the call of what is not."""

    contract = f"""
        rule "read first" {{ each path: before edit require read }}
        rule "commits" {{ at most {COMMITS} commit }}
        rule "tested" {{ before each commit require ?test(passed == true) }}
        rule "look at it" {{ forbid edit then commit }}
        tools {{ edit fails done  [read, test] fails undone }}
    """
    tools: ClassVar[dict[str, str]] = {"read": "undone", "edit": "done", "test": "undone", "commit": "unknown"}
    constructs: ClassVar[dict[str, tuple[str, ...]]] = {
        "read": ("slice", "next to"), "edit": ("slice", "next to"), "test": ("result", "next to"),
        "commit": ("result", "budget", "next to"),
    }  # fmt: skip

    def wish(self, rng: Random) -> tuple[str, Arguments]:
        tool = rng.choice(("read", "edit", "edit", "test", "test", "commit"))
        return tool, {"path": rng.randrange(FILES)} if tool in {"read", "edit"} else {}

    def result(self, rng: Random, call: Call) -> dict[str, Any]:
        return {"passed": rng.random() < 0.8} if call.tool == "test" else super().result(rng, call)

    def needs(self, tool: str, arguments: Arguments) -> Gates | None:
        if tool == "edit":
            return () if arguments["path"] in self.read else None
        if tool != "commit":
            return ()
        commits = self.possible("commit")
        if self.committed + len(commits) >= COMMITS:
            return None
        if self.tested <= max([self.last_commit, *(call.place for call in commits)]):
            return None
        for sent, uncertain in reversed(self.sends):
            if sent == "edit":
                return None
            if uncertain is None:
                break
        return ()

    def goes_out(self, call: Call) -> None:
        super().goes_out(call)
        self.sends.append((call.tool, call))

    def taken_back(self, call: Call) -> None:
        super().taken_back(call)
        self.sends = [sent for sent in self.sends if sent[1] is not call]

    def happened(self, call: Call, result: dict[str, Any]) -> None:  # noqa: ARG002 - it counts whatever it returned
        here = [place for place, (_, uncertain) in enumerate(self.sends) if uncertain is call]
        if here:
            self.sends[: here[0] + 1] = [(call.tool, None)]
        if call.tool == "read":
            self.read.add(call.arguments["path"])
        if call.tool == "commit":
            self.committed += 1
            self.last_commit = max(self.last_commit, call.place)

    def ended(self, call: Call, result: dict[str, Any]) -> bool:
        if call.tool == "test" and result.get("passed") is True:
            self.tested = self.place
        return True


DESK, WITHIN, ANSWERS = 8, 60, 300


@dataclass
class Deadlines(Account):
    """Requests are answered within a minute, each for itself."""

    due: dict[int, float] = field(default_factory=dict)
    answered: int = 0

    contract = f"""
        rule "in time" {{ each request: within {WITHIN}s after ?asked require answer }}
        rule "answers" {{ at most {ANSWERS} answer }}
        rule "approved" {{ before each promise require Approval by human }}
        tools {{ look fails undone }}
        rule "looks" {{ each request: before answer require look }}
    """
    tools: ClassVar[dict[str, str]] = {"answer": "unknown", "look": "undone", "promise": "unknown"}
    constructs: ClassVar[dict[str, tuple[str, ...]]] = {
        "answer": ("deadline", "slice", "budget"),
        "look": ("slice",),
        "promise": ("gate",),
    }
    events = ("asked",)
    looked: set[int] = field(default_factory=set)

    def wish(self, rng: Random) -> tuple[str, Arguments]:
        tool = rng.choice(("answer", "answer", "answer", "look", "promise"))
        return tool, {"request": rng.choice([*self.due] or [0]) if tool == "answer" else rng.randrange(DESK)}

    def saying(self, rng: Random) -> tuple[str, dict[str, Any]] | None:
        free = [n for n in range(DESK) if n not in self.due and not self.possible("answer", request=n)]
        return ("asked", {"request": rng.choice(free)}) if free else None

    def needs(self, tool: str, arguments: Arguments) -> Gates | None:
        if tool == "promise":
            return ("Approval",)
        if tool == "look":
            return ()
        full = self.answered + len(self.possible("answer")) >= ANSWERS
        return None if full or arguments["request"] not in self.looked else ()

    def happened(self, call: Call, result: dict[str, Any]) -> None:  # noqa: ARG002 - it counts whatever it returned
        request = call.arguments.get("request")
        if call.tool == "answer":
            self.answered += 1
            self.due.pop(request, None)
        if call.tool == "look":
            self.looked.add(request)

    def said(self, what: str, payload: dict[str, Any]) -> bool:
        super().said(what, payload)
        self.due[payload["request"]] = self.now + WITHIN
        return True

    def late(self, now: float) -> bool:
        """What was not answered for certain counts as open. It is told once."""
        self.now = now
        over = [request for request, due in self.due.items() if due < now]
        for request in over:
            del self.due[request]
        return bool(over)

    def owes(self) -> bool:
        return bool(self.due)


SCENES: dict[str, type[Account]] = {
    "payments": Payments, "transfers": Transfers, "bookings": Bookings, "support": Support, "coding": Coding,
    "deadlines": Deadlines,
}  # fmt: skip
