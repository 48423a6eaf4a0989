"""Random runs of random contracts, and the features that each pair uses.

A run is made by whoever knows what is legal, the reference, so that most of what happens is: a run in which everything
is refused says nothing. What then is refused is refused in the middle of something.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import count
from random import Random

from accord.language.rules import ForbidSequence, Within
from tests.surfaces.capabilities import failure_lines, is_open, keeps_names
from tests.surfaces.contracts import GATE, SIGN, STRANGER, TOOLS, Written, random_contract
from tests.surfaces.happenings import ENDS, Happening, Outcome, Run
from tests.surfaces.once import read
from tests.surfaces.reference import Firm, Judge, arguments_of, end_of

__all__ = ["Pair", "pair_of", "random_pair"]

VALUES = ({"x": 1}, {"x": 0}, {"x": 2}, {"x": 3}, {"x": 1, "y": 1}, {})
ODD = (
    "done", "no", '{"x": 1}', [1, 2], "[1, 2]", None, 5, True, {"error": "declined", "x": 1},
    {"x": 1, "call": {"k": 9}}, {"call_id": "mine", "x": 0}, "", {"error": None, "x": 2},
)  # fmt: skip
REASONS = ("RuntimeError: boom", "TimeoutError: too slow", 'ValueError: {"x": 1}')
LENGTHS = (2, 4, 6, 8, 12, 20)
LONG = (60, 80)
SIGNED = f"{GATE} by human"
MOST_OPEN = 4
"""Calls that may or may not have happened, at once: each multiplies what is possible."""
MOST_STATES = 300
MOST_TRIES = 100


@dataclass(frozen=True)
class Pair:
    """A contract, a run, the features that both use, and what the reference says."""

    written: Written
    run: Run
    uses: frozenset[str]
    outcome: Outcome


def random_pair(rng: Random, features: frozenset[str], wanted: str | None = None) -> Pair:
    """A pair that uses nothing but these features; if something is wanted, mostly one that uses that."""
    for tries in count():
        written = random_contract(rng, features, wanted)
        author = Author(rng, written, features, wanted)
        run = author.run()
        if not any(one.kind == "call" for one in run) or not any(one.kind in ENDS for one in run):
            continue
        used = author.judge.features()
        if used <= features:
            outcome = author.judge.close()
            if "several out" in used and is_foreseen(written.document, run, outcome):
                used |= {"foreseen"}
            if used <= features and (wanted is None or wanted in used or tries > MOST_TRIES):
                return Pair(written, run, used, outcome)
    raise AssertionError


class Author:
    """Makes up a run."""

    def __init__(self, rng: Random, written: Written, features: frozenset[str], wanted: str | None = None) -> None:
        self.rng, self.written, self.features, self.wanted = rng, written, features, wanted
        self.judge = Watcher(written, 0.0)
        self.names = [*TOOLS, *([STRANGER] if "strangers" in features and rng.random() < 0.3 else [])]
        self.is_timed = self.judge.is_timed
        self.now, self.calls, self.messages = 0.0, 0, 0
        self.pending: list[int] = []  # calls without an end, as they stand in the run
        self.failed: list[Happening] = []
        self.denied: list[tuple[str, object]] = []
        is_said = f"{GATE} when user" in written.text  # then the user is asked, by the agent
        self.asks = "answers" in features and SIGNED in written.text and not (is_said or self.is_timed)
        alone = self.is_timed or "several out" not in features
        self.most = 1 if alone else rng.choice((1, 2, 2, 3, 4) if wanted != "foreseen" else (2, 3, 4))
        self.overlaps = not alone and "overlap" in features and rng.random() < 0.3
        self.shuffles = "late" in features and rng.random() < 0.5
        self.hangs = "unended" in features and not self.is_timed and rng.random() < 0.2
        self.is_over = self.has_begun = False
        self.fails = rng.choice((0, 0.2, 0.4))
        self.odd = 0.3 if "odd values" in features else 0

    def run(self) -> Run:
        rng = self.rng
        is_long = "long" in self.features and (self.wanted == "long" or rng.random() < 0.06)
        length = rng.choice(LONG) if is_long else rng.choice(LENGTHS)
        while len(self.judge.run) < length and self.judge.most_states < MOST_STATES and not self.is_over:
            if not self.judge.used <= self.features:
                return ()  # nobody can be asked about it any more
            if self.is_timed and self.has_begun and rng.random() < 0.4:
                self.now += rng.choice((0.25, 0.5, 1, 2, 4))
            if self.pending and (not self.overlaps or rng.random() < 0.5 or self.is_full()):
                self.end()
            elif rng.random() < 0.2 and self.speak():
                continue
            else:
                self.message()
        while self.pending and not (self.hangs and rng.random() < 0.3):
            self.end()
        return tuple(self.judge.run)

    def is_full(self) -> bool:
        open_ones = [call for call in self.judge.calls.values() if call.state in {"out", "unknown"}]
        return len(open_ones) + len(self.judge.held) >= MOST_OPEN

    def tell(self, kind: str, name: str = "", body: object = None, **more) -> None:
        one = Happening(kind, name, body, at=self.now if self.is_timed else 0.0, **more)
        if self.is_timed and not self.is_event(one):
            one = replace(one, at=self.judge.clock)  # what nobody looks at tells nobody the time
        else:
            self.has_begun = True
        self.judge.tell(one)

    def is_event(self, one: Happening) -> bool:
        """Whether the contract has a name for it, and looks at it."""
        here, place = self.judge, None
        if one.kind in ENDS:
            place = next(
                at for at in reversed(range(len(here.run))) if here.run[at].kind == "call" and here.run[at].id == one.id
            )
            if place in here.refused or (one.kind == "error" and here.calls[place].failure != "done"):
                return False
        payload = one.body if one.kind in {"call", "event"} else {"text": one.body}
        payload = payload if place is None else end_of(one, here.run[place])
        label = here.projection.label(one, payload)
        if label.name is None:
            return False
        if one.kind in {"call", "event"} and here.projection.is_closed:
            return (label.direction, label.name) in here.projection.named
        return one.kind == "call" or here.projection.reaches(label.direction, label.name)

    # -- calls ---------------------------------------------------------------------------------------------------------

    def message(self) -> None:
        """A model asks for one call or several."""
        if self.asks and not self.judge.log and not self.judge.held and self.rng.random() < 0.5 and self.ask():
            self.messages += 1
            return
        for _ in range(self.rng.randint(1, self.most)):
            if self.is_full() and self.pending:
                break
            self.call()
        self.messages += 1

    def arguments(self) -> dict:
        rng = self.rng
        found: dict[str, object] = {"x": rng.randint(0, 3)}
        if "slices" in self.features and rng.random() < 0.95:
            found["k"] = rng.choice((1, 1, 2))
        return found | ({"y": 1} if rng.random() < 0.2 else {})

    def call(self) -> None:
        rng = self.rng
        name, arguments, identity = "", {}, ""
        for _ in range(10 if rng.random() < 0.9 else 1):
            name, arguments = rng.choice(self.names), self.arguments()
            if self.is_legal(name, arguments):
                break
        else:
            self.is_over = rng.random() < 0.5 and self.wanted != "long"  # there is nothing to be done any more
        if self.failed and "retries" in self.features and rng.random() < 0.4:
            again = self.failed.pop()
            if all(self.judge.run[place].id != again.id for place in self.pending):
                name, arguments, identity = again.name, again.body, again.id
        if not identity:
            identity = f"c{self.calls}"
            self.calls += 1
        self.pending.append(len(self.judge.run))
        self.tell("call", name, arguments, id=identity, message=self.messages)

    def ask(self) -> bool:
        """A call about which a person is asked, and what the person answers, if one can be found."""
        rng, denied = self.rng, None
        if rng.random() < 0.3:
            denied = self.askable()
            if denied in self.denied:
                denied = None  # nobody is asked about it again
            elif denied is not None:
                self.denied.append(denied)
        wanted = self.askable()
        if wanted is None or wanted in self.denied:
            return False
        name, arguments = wanted
        other = self.askable(name) if rng.random() < 0.3 else None
        is_other = other is not None and other != wanted and other not in self.denied
        body = other[1] if is_other else arguments
        identity = f"c{self.calls}"
        self.calls += 1
        self.tell("event", GATE, body, by="ana", answers=identity)
        self.pending.append(len(self.judge.run))
        about = {"asked": arguments if is_other else None, "denied": denied}
        self.tell("call", name, body, id=identity, message=self.messages, **about)
        # It returns at once: a guard makes approval and call in one step, and takes both back; a recording has two.
        self.end(self.pending[-1], returns=True)
        return True

    def askable(self, name: str | None = None) -> tuple[str, dict] | None:
        """A call that is refused now and would be legal after an approval of exactly this."""
        here = self.judge
        for _ in range(6):
            tool, arguments = name or self.rng.choice(TOOLS), self.arguments()
            if self.is_legal(tool, arguments):
                continue
            gate = Happening("event", GATE, arguments, by="ana")
            label = here.projection.label(gate, arguments)
            named = ("?", label.name) in here.projection.named
            if label.name is None or not (
                named or (("?", label.name) in here.projection.watched and not here.projection.is_closed)
            ):
                return None
            item = Firm(here._event("?", gate, label.name, arguments), not named)
            if here.refuses(item) is not None:
                continue
            before = list(here.log), here.certain
            here.log.append(item)
            try:
                if self.is_legal(tool, arguments):
                    return tool, arguments
            finally:
                here.log, here.certain = before
        return None

    def is_legal(self, name: str, arguments: dict) -> bool:
        """Whether the reference would let a call through now; it is not told of it."""
        here = self.judge
        label = here.projection.label(one := Happening("call", name, arguments), arguments)
        if label.name is None or ("!", label.name) not in here.projection.named:
            return not here.projection.is_closed
        item = type("Asked", (), {"event": here._event("!", one, label.name, arguments), "to_rules": False})
        if self.wanted == "several reasons":
            here.refuses(item)
            return here.is_torn or (self.rng.random() < 0.3 and here.refuses(item) is None)
        here.foresees = self.wanted != "foreseen"  # what is legal but for what others may return is what is wanted
        try:
            return here.refuses(item) is None
        finally:
            here.foresees = True

    def end(self, place: int | None = None, *, returns: bool = False) -> None:
        rng = self.rng
        if place is None:
            place = rng.choice(self.pending) if self.shuffles else self.pending[0]
        if not returns and self.hangs and rng.random() < 0.1 and len(self.pending) < len(self.judge.run):
            self.pending.remove(place)  # nobody hears of it again
            return None
        self.pending.remove(place)
        call = self.judge.run[place]
        made = self.judge.calls.get(place)
        meaning = made.failure if made is not None else "undone"
        unknown = sum(one.state == "unknown" for one in self.judge.calls.values())
        may_fail = f"fails {meaning}" in self.features and not (meaning == "unknown" and (unknown > 1 or self.is_timed))
        if may_fail and not returns and rng.random() < self.fails:
            self.failed.append(call)
            return self.tell("error", call.name, rng.choice(REASONS), id=call.id, message=call.message)
        self.failed = [one for one in self.failed if one.id != call.id]
        value = self.value()
        for _ in range(5 if rng.random() < 0.8 else 0):
            if made is None or self.is_fine(Happening("result", call.name, value, call.id), call):
                break
            value = self.value()
        return self.tell("result", call.name, value, id=call.id, message=call.message)

    def is_fine(self, one: Happening, call: Happening) -> bool:
        """Whether the reference would take a result if its call counted."""
        here, payload = self.judge, end_of(one, call)
        label = here.projection.label(one, payload)
        if label.name is None or not here.projection.reaches("?", label.name):
            return True
        made = here.calls[next(place for place in reversed(range(len(here.run))) if here.run[place] is call)]
        item = Firm(here._event("?", one, label.name, payload), ("?", label.name) not in here.projection.named)
        before, made.state = (made.state, list(here.log), here.certain), "counted"
        try:
            return here.refuses(item) is None
        finally:
            made.state, here.log, here.certain = before

    def value(self) -> object:
        rng = self.rng
        if rng.random() < self.odd:
            return rng.choice(ODD)
        value = dict(rng.choice(VALUES))
        if "keys of calls" in self.features and rng.random() < 0.15:
            value["k"] = rng.choice((1, 2))
        return value

    # -- everything else -----------------------------------------------------------------------------------------------

    def speak(self) -> bool:
        """Somebody says something, or the program reports something that the contract names."""
        rng, projection = self.rng, self.judge.projection
        acts = []
        if "text" in self.features:
            acts += [("user", "", text) for text in ("yes", "no", "please go on")] + [
                ("agent", "", "done"),
                ("agent", "", "hm"),
            ]
        names = [SIGN] if "program events" in self.features else []
        names += [GATE] if "approvals" in self.features else []
        for name in names:
            payload = {"x": rng.randint(0, 2), **({"k": rng.choice((1, 2))} if "slices" in self.features else {})}
            label = projection.label(Happening("event", name), payload).name
            if label is not None and projection.reaches("?", label):
                acts += [("event", name, payload)] * 3
        if not acts:
            return False
        kind, name, body = rng.choice(acts)
        self.tell(kind, name, body, by="ana" if name == GATE else None)
        return True


# -- what a pair uses --------------------------------------------------------------------------------------------------


class Watcher(Judge):
    """The reference, noting which features a run uses while it is told of it."""

    def __init__(self, written: Written, began: float) -> None:
        super().__init__(written.document, began)
        self.written = written
        self.used = _of_contract(written)

    def tell(self, one: Happening) -> None:
        out = [call for call in self.calls.values() if call.state == "out"]
        self.used |= _of_happening(self, one, out)
        super().tell(one)
        if self.held:
            self.used.add("waiting")
        if sum(call.state == "out" for call in self.calls.values()) > 1 or self.held:
            self.used.add("several out")

    def features(self) -> frozenset[str]:
        """All of them, when the run is over."""
        if self.was_torn:
            self.used.add("several reasons")
        is_open = Counter(one.id for one in self.run if one.kind == "call") - Counter(
            one.id for one in self.run if one.kind in ENDS
        )
        return frozenset(self.used | ({"unended"} if is_open else set()) | ({"long"} if len(self.run) >= 60 else set()))


def is_foreseen(document, run: Run, outcome: Outcome) -> bool:
    """Whether what a call that is out may return has decided something."""
    blind = Judge(document, run[0].at)
    blind.foresees = False
    for one in run:
        blind.tell(one)
    return blind.close() != outcome


def pair_of(text: str, run: Run, made: set[str] = frozenset()) -> Pair:
    """A pair that somebody has written down, or that shrinking has made."""
    document = read(text)
    found = set(made)
    found |= {"events block"} if document.events is not None else set()
    found |= {"named otherwise"} if document.events is not None and keeps_names(document.events) else set()
    found |= {"tools"} if failure_lines(document) else set()
    found |= {"open"} if any(map(is_open, document.declarations)) else set()
    found |= {"gate"} if " by human" in text else set()
    found |= {"sliced rule"} if any(item.each for item in (*document.declarations, *document.rules)) else set()
    found |= {"text lines"} if " says " in text else set()
    watcher = Watcher(Written(text, document, found, {}), run[0].at if run else 0.0)
    watcher.speaks_of_ends = any(one.kind in ENDS for one in run)
    for one in run:
        watcher.tell(one)
    used, outcome = watcher.features(), watcher.close()
    if "several out" in used and is_foreseen(document, run, outcome):
        used |= {"foreseen"}
    return Pair(watcher.written, run, used, outcome)


def _of_contract(written: Written) -> set[str]:
    made, text = written.made, written.text
    named = {
        "open": "open", "tools": "tools", "named otherwise": "named otherwise", "events block": "events",
        "gate": "gates", "sliced protocol": "slices", "sliced rule": "slices", "text lines": "text",
    }  # fmt: skip
    found = {feature for construct, feature in named.items() if construct in made}
    if "within" in text or any(isinstance(rule.body, Within) for rule in written.document.rules):
        found.add("time")
    if any(word in text for word in ("error ==", "error !=", "call.", "call_id")):
        found.add("fields of ends")
    return found


def _of_happening(here: Judge, one: Happening, out: list) -> set[str]:
    """What one happening uses, just before it happens."""
    projection, found = here.projection, set()
    if one.kind == "call":
        label = projection.label(one, arguments_of(one.body))
        if one.name == STRANGER or label.name is None:
            found.add("strangers")
        if projection.has_protocol and projection.declaration.each and ("!", label.name) not in projection.named:
            found.add("strangers in slices")
        made = Counter(each.id for each in here.run if each.kind == "call")
        if made - Counter(each.id for each in here.run if each.kind in ENDS):
            found.add("several out")
        if any(call.one.message != one.message for call in out) or any(
            here.run[held].message != one.message for held in here.held
        ):
            found.add("overlap")
        if any(earlier.kind == "call" and earlier.id == one.id for earlier in here.run):
            found.add("retries")
    elif one.kind == "event":
        found.add("answers" if one.answers else "approvals" if one.by else "program events")
        label = projection.label(one, one.body)
        if projection.has_protocol and projection.declaration.each and ("?", label.name) not in projection.named:
            found.add("strangers in slices")
    elif one.kind in {"user", "agent"}:
        found.add("text")
        label = projection.label(one, {"text": one.body})
        if projection.has_protocol and label.name and (label.direction, label.name) not in projection.named:
            found.add("beside the protocol")
    else:
        found |= _of_end(here, one, out)
    return found


def _of_end(here: Judge, one: Happening, out: list) -> set[str]:
    projection, found = here.projection, set()
    place = next(
        at for at in range(len(here.run) - 1, -1, -1) if here.run[at].kind == "call" and here.run[at].id == one.id
    )
    call = here.run[place]
    payload = end_of(one, call)
    if place in here.refused:
        return {"refused and ended"} | ({"fails undone"} if one.kind == "error" else set())
    if any(other.place < place for other in out) or any(held < place for held in here.held):
        found.add("late")
    if one.kind == "error" and place in here.calls:
        found.add(f"fails {here.calls[place].failure}")
    if one.kind == "error" and place in here.held:
        found |= {"fails undone", "fails done", "fails unknown"}
    if not isinstance(one.body, dict) or {"error", "call", "call_id"} & set(one.body):
        found |= {"odd values"} if one.kind == "result" else set()
    label = projection.label(one, payload).name
    is_watched = ("?", label) in projection.watched
    if projection.has_protocol:
        beside = ("?", label) not in projection.named and (is_watched or projection.events is not None)
    else:  # nobody looks at it, and neighbours are not parted by it
        beside = not is_watched and any(isinstance(rule.body, ForbidSequence) for rule in here.document.rules)
    if label is not None and beside:
        found.add("beside the protocol")
    keys = {item.each[0] for item in (*here.document.declarations, *here.document.rules) if item.each}
    if isinstance(one.body, dict) and keys & set(one.body):
        found.add("keys of calls")
    return found
