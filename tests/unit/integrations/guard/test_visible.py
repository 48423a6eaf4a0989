"""What a model should see, and what it is told."""

from __future__ import annotations

import unicodedata

from accord import Ok, ToolCall

BOOKING = "rec L.!{search.?search.L, book.end}"


def test_tools_that_cannot_be_called_now_are_hidden(guard_of, tools_named):
    guard = guard_of("!search.!book.end", tools=tools_named("search", "book", "other"))
    assert guard.visible() == ["search"]
    guard.run([ToolCall("search")])
    assert guard.visible() == ["book"]
    assert guard.visible(["book", "x"]) == ["book"]
    guard.run([ToolCall("book")])
    assert guard.visible() == []


def test_when_a_session_is_closed_nothing_is_seen(guard_of, tools_named):
    guard = guard_of("rec L.{!search.L, end}", tools=tools_named("search"))
    assert (guard.visible(), guard.close(), guard.visible(), guard.allowed()) == (["search"], Ok(), [], [])


def test_tools_that_a_person_could_allow_are_seen(guard_of, tools_named):
    guard = guard_of("?A by human.?B by human.!pay.end", tools=tools_named("pay"))
    assert guard.visible() == ["pay"]


def test_what_a_rule_forbids_is_hidden(guard_of, tools_named):
    guard = guard_of('rule "once" { at most 1 pay }', tools=tools_named("pay", "look"))
    assert guard.visible() == ["pay", "look"]
    guard.run([ToolCall("pay")])
    assert guard.visible() == ["look"]


def test_while_calls_are_out_what_may_become_legal_is_seen_and_what_is_certain_is_allowed(guard_of, tools_named):
    guard = guard_of("!a.!b.end", tools=tools_named("a", "b"))
    guard.reserve([ToolCall("a", {}, "c1")])
    assert sorted(guard.visible()) == ["a", "b"]
    assert guard.allowed() == []


def test_labels_give_tools_other_names(guard_of, tools_named):
    tools = tools_named("book_flight", "search")
    guard = guard_of("!search.!book.end", tools=tools, labels={"book_flight": "book"})
    guard.run([ToolCall("search")])
    assert guard.visible() == ["book_flight"]
    assert guard.run([ToolCall("book_flight")])[0].ok
    assert tools.ran == ["search", "book_flight"]


def test_names_are_compared_in_one_normal_form(guard_of, tools_named):
    composed = "caf\u00e9"
    decomposed = unicodedata.normalize("NFD", composed)
    tools = tools_named(decomposed)
    guard = guard_of(f"?Approval by human.!{composed}.end", tools=tools, patience=99)
    assert guard.visible() == [decomposed]
    guard.run([ToolCall(decomposed)])
    guard.decide(guard.reviews()[0].id, "allow", by="ana")
    assert guard.run([ToolCall(decomposed)])[0].ok
    assert guard.reviews() == []


def test_two_spellings_of_one_label_are_one_label(guard_of):
    composed = "caf\u00e9"
    decomposed = unicodedata.normalize("NFD", composed)
    ran = []
    tools = {composed: lambda: ran.append(1), decomposed: lambda: ran.append(2)}
    guard = guard_of(f"!{composed}.end", tools=tools, patience=3)
    assert [r.ok for r in guard.run([ToolCall(decomposed), ToolCall(composed)])] == [True, False]
    assert ran == [2]
    guard.run([ToolCall(decomposed)])
    guard.run([ToolCall(composed)])
    assert guard.stopped is not None, "both are counted as one"


def test_what_a_model_is_told_of_where_it_stands(guard_of, tools_named):
    guard = guard_of("(!a.!b.end | ?Ok by human.!pay.end)", tools=tools_named("a", "b", "pay"))
    assert guard.explain() == ("Tools you may call now: `a`, `pay`. Allowed now: `a`, or a person must decide (`Ok`).")
    guard.reserve([ToolCall("a", {}, "c1")])
    guard.run([ToolCall("pay", {}, "c2")])
    (review,) = guard.reviews()
    said = guard.explain()
    assert "Not returned yet: `a`." in said
    assert f"A person has been asked about `pay` (review {review.id})." in said
    guard.decide(review.id, "allow", by="ana")
    assert "`pay` was allowed by ana; call it again, unchanged." in guard.explain()


def test_asking_changes_nothing(guard_of, tools_named):
    guard = guard_of(BOOKING, tools=tools_named("search", "book"))
    before = guard.allowed()
    for _ in range(3):
        guard.visible(), guard.explain(), guard.status, guard.stopped, guard.out(), guard.reviews()
    assert guard.allowed() == before


def test_what_is_out_is_shown_and_cannot_be_edited(guard_of):
    guard = guard_of("!pay(o.total as t).!more(o.total <= t).end")
    guard.reserve([ToolCall("pay", {"o": {"total": 5}}, "c1")])
    guard.out()[0].events[0].payload["o"]["total"] = 500
    guard.settle("c1")
    assert not guard.reserve([ToolCall("more", {"o": {"total": 400}})])[0].admitted
