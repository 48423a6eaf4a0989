"""Whatever the studio is asked, it answers, and never with a bug of its own."""

from __future__ import annotations

import json
import random
from typing import get_args, get_type_hints

from accord.diagnostics import Source
from accord.language import examine
from accord.language.tree import Action
from accord.studio.answers import ANSWERS
from accord.studio.message_edits import messages_in
from accord.studio.opened import OPENED
from accord.studio.requests import Edit, RuleForm
from accord.studio.snippets import KINDS
from accord.studio.trees import spots_in
from accord.templates import template_names, templates
from tests.census import Census
from tests.spec.cases import SPEC_FILES, MalformedSpecError, read_file
from tests.studio.asking import Asker

HOSTILE = [
    "",
    "\x00",
    "\u202e",
    "<script>",
    "\ud83d",
    "a" * 3000,
    "!",
    "?{",
    "rec X.X",
    '!"',
    "{}",
    "[]",
    "-1",
    "null",
    "=1+1",
]
FLOOR = 3_000


def contracts() -> list[str]:
    found = [one.text for one in templates()]
    for path in SPEC_FILES:
        try:
            found += [case.contract for case in read_file(path) if len(case.contract) < 2_000]
        except MalformedSpecError:
            continue
    return sorted(set(found))


REPEATABLE = "protocol P {\n    A -> B: one\n    A -> B: two\n    A -> B: three\n}\n"  # hardly any other one is
RENAME = "rename everywhere"
CHANGES = get_args(get_type_hints(Edit)["change"])
WRONG = ("nothing", "field left out", "value of another type", "odd text", "mangled contract")


class Form:
    """Fills requests, and remembers what is wrong with the one at hand."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.texts = contracts()
        self.wrong: set[str] = set()
        self.local, self.between = [], []
        for text in (*self.texts, REPEATABLE):
            document = examine(Source(text))[0]
            if document is not None and spots_in(document):
                steps = [spot for spot in spots_in(document) if isinstance(spot.node, Action)]
                self.local.append((text, [spot.number for spot in spots_in(document)], steps))
            if document is not None and messages_in(document):
                self.between.append((text, [spoken.exchange for spoken in messages_in(document)]))

    def request(self, name: str, fields: tuple[str, ...]) -> dict[str, object]:
        """A request of a kind, mostly with little that is wrong with it."""
        self.wrong = set()
        self.oddity = self.dice.choice((0.0, 0.15, 0.45))
        kept = [field for field in fields if self.dice.random() < 1 - self.oddity / 2]
        if len(kept) < len(fields):
            self.wrong.add("field left out")
        request = {field: self.value(field) for field in kept}
        return {**request, **self.aim(request["change"])} if name == "edit" and not self.wrong else request

    def aim(self, change: object) -> dict[str, object]:
        """A contract with a place that an edit can be about."""
        if not str(change).startswith("message"):
            text, numbers, steps = self.dice.choice(self.local)
            label = self.dice.choice(steps).node.label if steps else "x"
            at = self.dice.choice(numbers)
            return {"text": text, "at": at, **({"put": {"sign": "!", "label": label}} if change == RENAME else {})}
        text, exchanges = self.dice.choice(self.between if self.dice.random() < 0.7 else self.between[-1:])
        at = self.dice.randrange(len(exchanges))
        message = {"sender": exchanges[at].sender, "receiver": exchanges[at].receiver, "label": "brand_new"}
        return {"text": text, "at": at, "message": message}

    def odd(self, usual: str) -> str:
        if self.dice.random() < self.oddity:
            self.wrong.add("odd text")
            return self.dice.choice(HOSTILE)
        return usual

    def contract(self) -> str:
        text = self.dice.choice(self.texts)
        if self.dice.random() < self.oddity and text:
            self.wrong.add("mangled contract")
            return mangled(text, self.dice)
        return text

    def value(self, field: str) -> object:
        dice = self.dice
        if field not in USUAL or dice.random() < self.oddity / 2:
            self.wrong.add("value of another type")
            return dice.choice([dice.randrange(-3, 5000), None, True, [1, None], {"odd": "a"}, -0.5])
        return USUAL[field](self)


def put_by(odd):
    return {"sign": "!", "label": odd("x"), "partner": odd(""), "guards": odd("a == 1"), "within": odd("")}


def message_by(dice, odd):
    return {"sender": dice.choice("AB"), "receiver": odd("C"), "label": odd("x"), "fields": odd("")}


def rule_by(dice, odd):
    return {"kind": dice.choice(RULES), "first": odd("a"), "second": odd("b"), "number": odd("2"), "name": odd("r")}


def recorded_by(odd):
    return {"name": odd("runs.jsonl"), "file": odd("e30=")}


RULES = get_args(get_type_hints(RuleForm)["kind"])
EVENTS = ("!a", "?b by ana", "@1 tick", "end", '{"send": "a"}')
USUAL = {
    "text": lambda f: f.contract(),
    "events": lambda f: [f.odd(f.dice.choice(EVENTS)) for _ in range(3)],
    "messages": lambda f: [{"sender": "A", "receiver": "B", "label": f.odd("x")}],
    "files": lambda f: [recorded_by(f.odd)],
    "file": lambda f: recorded_by(f.odd),
    "change": lambda f: f.odd(f.dice.choice(CHANGES)),
    "put": lambda f: put_by(f.odd),
    "message": lambda f: message_by(f.dice, f.odd),
    "rule": lambda f: rule_by(f.dice, f.odd),
    "to": lambda f: f.dice.choice([0, 0, 1, None]),
    "answer": lambda f: f.odd(f.dice.choice(["allow", "deny", "modify"])),
    "what": lambda f: f.odd("x"),
    "at": lambda f: f.dice.choice([0, 0, 1, 2, 3, 5]),
    "protocol": lambda f: f.dice.choice([None, None, None, f.odd("P")]),
    "role": lambda f: f.dice.choice([None, f.odd("A")]),
    "mode": lambda f: f.odd(f.dice.choice(["halt", "refuse"])),
    "next": lambda f: f.dice.choice(
        [None, {"move": f.odd("!a"), "answers": [f.odd("1")]}, {"text": f.odd("!a")}, {"move": "end"}]
    ),
    "everything": lambda f: f.dice.choice([True, False]),
    "palette": lambda f: [f.odd("a")],
    "kind": lambda f: f.odd(f.dice.choice(list(KINDS))),
    "name": lambda f: f.odd(f.dice.choice(template_names())),
    "payload": lambda f: f.dice.choice([None, {}, {"a": f.odd("b")}]),
    "number": lambda f: f.dice.choice([0, 1, -1]),
    "first": lambda f: f.dice.choice([0, 1]),
    "status": lambda f: f.odd(f.dice.choice(["", "conforming", "violating"])),
    **dict.fromkeys(
        ("path", "before", "by", "value", "search", "key", "session", "review", "reason"),
        lambda f: f.odd("ana"),
    ),
}


def mangled(text: str, dice: random.Random) -> str:
    at = dice.randrange(len(text))
    return text[:at] + dice.choice(HOSTILE) + text[at + dice.randrange(4) :]


def test_every_answer_to_anything(soak, health):
    dice = random.Random(11)
    asker, form = Asker(), Form(dice)
    table = {**ANSWERS, **OPENED}
    asked = Census("requests, and what is wrong with them", tuple(sorted(table)), WRONG, never_wrong(table))
    edits = Census("edits, answered", CHANGES, ("taken", "refused"))
    counts: dict[int, int] = {}
    for _ in range(FLOOR * (20 if soak else 1)):
        name = dice.choice(sorted(table) if dice.random() < 0.65 else ["edit"])
        request = form.request(name, table[name][0].__struct_fields__)
        try:
            body = json.dumps(request).encode("utf-8", "surrogatepass")
        except ValueError:
            continue
        answer = asker.request("POST", f"/api/{name}", body)
        assert answer.status in {200, 400, 422}, (name, request, answer.body)
        assert answer.body.isascii()
        counts[answer.status] = counts.get(answer.status, 0) + 1
        asked.add((name, what) for what in form.wrong or ("nothing",))
        if name == "edit" and request.get("change") in CHANGES:
            edits.add([(request["change"], "taken" if answer.status == 200 else "refused")])
    health(
        f"studio: {sum(counts.values())} odd requests, answered {dict(sorted(counts.items()))}\n"
        f"{asked.table()}\n{edits.table()}"
    )
    assert counts[200] > FLOOR / 10 and counts[400] > FLOOR / 10 and counts[422] > FLOOR / 100
    asked.check(1)
    edits.check(1)


def never_wrong(table):
    """What cannot be wrong with requests, by the fields that they have."""
    never = {}
    for name, (kind, _) in table.items():
        fields = kind.__struct_fields__
        if not fields:
            never |= {(name, what): "nothing is asked with it" for what in WRONG[1:]}
        elif "text" not in fields:
            never[name, "mangled contract"] = "it has no contract"
        if fields == ("number",):
            never[name, "odd text"] = "it has no text"
        elif set(fields) <= {"text", "everything"}:
            never[name, "odd text"] = "but for the contract it has no text"
    return never
