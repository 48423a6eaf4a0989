"""Bugs planted in the checker: the corpus must show each of them."""

from __future__ import annotations

import pytest
from tests.spec.agents.corpus import CASES
from tests.spec.agents.test_corpus import found_in

from accord.agents.check import (
    building,
    conversing,
    declarations,
    escapes,
    exploring,
    expressions,
    fitting,
    kinds,
    knowing,
    returning,
    studying,
    visiting,
)
from accord.agents.check.exceptions import Catch
from accord.agents.check.scripts import Script
from accord.agents.check.worlds import World

PLANTED = {
    "nothing is ever owed": (Script, "owes", lambda *_: False),
    "whatever comes is taken": (Script, "is_taken", lambda *_: True),
    "nothing raises": (exploring.Exploring, "raise_from", lambda *_: None),
    "every exception is caught": (Catch, "takes", lambda *_: True),
    "no exception is caught": (Catch, "takes", lambda *_: False),
    "names are never known": (knowing.Knowledge, "name", lambda *_: None),
    "messages are never told apart": (knowing.Knowledge, "is_instance", lambda *_: None),
    "conditions are never known": (knowing.Knowledge, "truth", lambda *_: None),
    "loops over literals are any loops": (expressions.Expressions, "elements", lambda *_: None),
    "nothing escapes": (escapes, "_of_self", lambda *_: iter(())),
    "conversations are not counted": (World, "with_other", lambda self, other: self._replace(others=((other, 1),))),
    "everything is clear": (conversing, "_unclear", lambda *_: None),
    "handlers start nowhere": (studying, "_handle", lambda *_: None),
    "loops are never looked at": (visiting, "find_trap", lambda *_: None),
    "no manager swallows": (building, "swallowed_by", lambda *_: None),
    "class bodies hide nothing": (declarations, "hidden_in", lambda *_: iter(())),
    "values fit every field": (fitting, "cannot_be", lambda *_: False),
    "functions never fall through": (returning, "_ends", lambda *_: True),
    "message classes are not related": (kinds.MessageKinds, "_line", lambda *_: []),
    "nothing is missed": (expressions.Expressions, "missed", lambda *_: None),
    "strands never end": (studying, "_let_go", lambda *_: None),
}


@pytest.mark.parametrize("name", PLANTED)
def test_the_corpus_shows_a_planted_bug(name, monkeypatch):
    owner, attribute, planted = PLANTED[name]
    assert hasattr(owner, attribute)
    monkeypatch.setattr(owner, attribute, planted)
    for case in CASES:
        if found_in(case) != list(case.expected):
            return
    pytest.fail(f"no case of the corpus shows that {name}")
