"""Whatever the studio is asked, it answers, and never with a bug of its own."""

from __future__ import annotations

import json
import random

from accord.studio.answers import ANSWERS
from accord.studio.opened import OPENED
from accord.studio.snippets import KINDS
from accord.templates import template_names, templates
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
FLOOR = 600


def contracts() -> list[str]:
    found = [one.text for one in templates()]
    for path in SPEC_FILES:
        try:
            found += [case.contract for case in read_file(path) if len(case.contract) < 2_000]
        except MalformedSpecError:
            continue
    return sorted(set(found))


def value_for(name: str, dice: random.Random, texts: list[str]) -> object:
    odd = dice.choice(HOSTILE)
    whole = [
        lambda: dice.choice(texts), lambda: odd, lambda: dice.randrange(-3, 5000), lambda: None, lambda: True,
        lambda: [odd, dice.choice(texts)], lambda: {"move": odd, "answers": [odd]}, lambda: {"text": odd},
    ]  # fmt: skip
    usual = {
        "text": lambda: mangled(dice.choice(texts), dice),
        "events": lambda: [dice.choice(["!a", "?b by ana", "@1 tick", "end", '{"send": "a"}', odd]) for _ in range(3)],
        "messages": lambda: [{"sender": "A", "receiver": "B", "label": odd}],
        "files": lambda: [{"name": odd, "content": dice.choice(["", "e30=", odd])}],
        "file": lambda: {"name": odd, "content": "e30="},
        "change": lambda: dice.choice(["before", "after", "beside", "loop", "rename", "remove", "begin", "rule"]),
        "answer": lambda: dice.choice(["allow", "deny", "modify"]),
        "what": lambda: dice.choice([odd, "!x", "?y(a == 1)", 'rule "r" { at most 1 a }']),
        "at": lambda: dice.choice([0, 1, 5, 10**20, -5]),
        "protocol": lambda: dice.choice([None, None, None, "P", odd]),
        "mode": lambda: dice.choice(["halt", "refuse"]),
        "next": lambda: dice.choice(
            [None, {"move": odd, "answers": [odd]}, {"text": "!a"}, {"move": "end"}, {"text": odd}]
        ),
        "everything": lambda: dice.choice([True, False]),
        "step": lambda: dice.randrange(-1, 6),
        "palette": lambda: [odd],
        "kind": lambda: dice.choice([*KINDS, odd]),
        "name": lambda: dice.choice([*template_names(), odd]),
        "payload": lambda: dice.choice([None, {}, {"a": odd}]),
    }
    return (usual[name] if name in usual and dice.random() < 0.97 else dice.choice(whole))()


def mangled(text: str, dice: random.Random) -> str:
    if dice.random() < 0.5 or not text:
        return text
    at = dice.randrange(len(text))
    return text[:at] + dice.choice(HOSTILE) + text[at + dice.randrange(4) :]


def test_every_answer_to_anything(soak, health):
    dice = random.Random(11)
    asker, texts = Asker(), contracts()
    table = {**ANSWERS, **OPENED}
    counts: dict[int, int] = {}
    for _ in range(FLOOR * (20 if soak else 1)):
        name = dice.choice(sorted(table))
        fields = table[name][0].__struct_fields__
        request = {field: value_for(field, dice, texts) for field in fields if dice.random() < 0.9}
        try:
            body = json.dumps(request).encode("utf-8", "surrogatepass")
        except ValueError:
            continue
        answer = asker.request("POST", f"/api/{name}", body)
        assert answer.status in {200, 400, 422}, (name, request, answer.body)
        assert answer.body.isascii()
        counts[answer.status] = counts.get(answer.status, 0) + 1
    health(f"studio: {sum(counts.values())} odd requests, answered {dict(sorted(counts.items()))}")
    assert counts[200] > FLOOR / 10 and counts[400] > FLOOR / 10 and counts[422] > FLOOR / 100
