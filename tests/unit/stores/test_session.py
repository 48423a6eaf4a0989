"""What a stored session answers when its store does what no store should."""

from __future__ import annotations

import pytest

from accord import Blocked, MemoryStore, Ok, StoredSession, Violation

ONCE = "rec X.{!note.X, !pay.end}"


class Breaking(MemoryStore):
    """Breaks in the middle: after it has judged, or after it has kept."""

    def __init__(self, error, *, late):
        super().__init__()
        self.error, self.late, self.calm = error, late, True

    def exchange(self, key, guess, judge):
        if self.calm:
            super().exchange(key, guess, judge)
        elif self.late:
            super().exchange(key, guess, judge)
            raise self.error
        else:
            judge(self.row(key))
            raise self.error


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize(
    "error", [ZeroDivisionError(), OSError(5, "broken"), MemoryError(), UnicodeError(), KeyError()]
)
def test_an_answer_that_was_found_but_not_kept_is_not_given(error, late):
    store = Breaking(error, late=late)
    session = StoredSession(store, ONCE, "s1")
    session.send("note")
    store.calm = False
    assert isinstance(session.send("pay"), Blocked)
    store.calm = True
    assert session.status == ("complete" if late else "running"), "the next look tells the truth"
    assert isinstance(session.send("pay"), Violation) if late else session.send("pay") == Ok()


def test_what_an_interrupt_has_left_in_memory_does_not_count():
    store = MemoryStore()
    session = StoredSession(store, ONCE, "s1")
    session.send("note")
    store._sessions["s1"][1].append(b"a line that nobody was told of")
    assert store.verify("s1").ok
    assert session.send("pay") == Ok()
    assert store.verify("s1").entries == 3


def test_a_store_that_does_not_look():
    class Lazy(MemoryStore):
        def exchange(self, key, guess, judge):
            """Nothing."""

    assert StoredSession(Lazy(), ONCE, "s1").send("pay") == Blocked(
        "the session cannot be kept (the store has not looked at it)"
    )


@pytest.mark.parametrize(("began", "asked", "is_late"), [(5, 14, False), (5, 16, True), (100, 109, False)])
def test_a_deadline_is_counted_from_when_the_session_begins(began, asked, is_late):
    session = StoredSession(MemoryStore(), "!ask within 10s else !remind.end", "s1", at=began)
    assert isinstance(session.send("ask", at=asked), Violation if is_late else Ok)
