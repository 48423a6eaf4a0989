"""Data and gates in the reference interpreter, against answers worked out by hand.

As in `test_reference.py`, trees are built from nodes and shown as text beside them.
"""

import math

import pytest

from accord.language.clauses import Bind, Collect, Guard, Register, Value
from accord.language.tree import Action, Choice, End, Interleaving, Recursion, Variable, sequence
from accord.semantics import Session, Verdict, is_complete, moves, start, step, word

NAN = math.nan
TRUE, FALSE = True, False
REFUSED = frozenset()


class Reg(str):
    """The name of a register, where a plain value would be a literal."""

    __slots__ = ()


def path(text):
    return tuple(text.split(".")) if isinstance(text, str) else text


def guard(field, operator, right):
    return Guard(path(field), operator, Register(str(right)) if isinstance(right, Reg) else Value(right))


def bind(field, register):
    return Bind(path(field), register)


def into(field, register):
    return Collect(path(field), register)


def act(text, *clauses, gated=False):
    """`!a`, `?a`, `B!a` with clauses."""
    cut = min(i for i in (text.find("!"), text.find("?")) if i >= 0)
    return Action(text[cut], text[cut + 1 :], text[:cut] or None, clauses=clauses, gated=gated)


def seq(*steps):
    return sequence(act(one) if isinstance(one, str) else one for one in steps)


def choice(*branches):
    return Choice(branches)


def par(*parts):
    return Interleaving(parts)


def tell(state, text, payload=None, by=None):
    event = act(text)
    return step(state, event.direction, event.label, event.partner, payload, by)


def run(protocol, *events):
    """The state after events `"!a"` or `("!a", payload)`, each of which must be accepted."""
    state = start(protocol)
    for event in events:
        text, *payload = (event,) if isinstance(event, str) else event
        state = tell(state, text, *payload)
        assert state, f"{event} was refused"
    return state


def legal(state):
    return " ".join(sorted(word(action) for action in moves(state)))


# --- words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "text"),
    [
        (act("!pay", guard("amount", "<=", Reg("t")), guard("currency", "==", "EUR")),
         '!pay(amount <= t, currency == "EUR")'),
        (act("?page", into("refs", "known")), "?page(refs into known)"),
        (act("?read", bind("path", "p")), "?read(path as p)"),
        (act("!refund", guard(("order", "odd name"), "==", Reg("o"))), '!refund(order."odd name" == o)'),
        (act("?Approval", gated=True), "?Approval by human"),
        (act("B?ok", bind("who", "w"), gated=True), "B?ok(who as w) by human"),
        (act("!x", guard("a", "in", ("b", 1, None, True))), '!x(a in ["b", 1, null, true])'),
        (act("!x", guard("a", "not in", ())), "!x(a not in [])"),
        (act("!x", guard("a", "in", ((1, ("n",)), 2))), '!x(a in [[1, ["n"]], 2])'),
        (act("!x", guard("a", "matches", r"^\d")), r'!x(a matches "^\\d")'),
        (act("!x", guard("rec.end.each.in", "!=", FALSE)), "!x(rec.end.each.in != false)"),
        (act("!x", guard(("", "1st", "a-b", "a.b"), ">", -1)), '!x(""."1st"."a-b"."a.b" > -1)'),
        (act("!x", guard(("été_1", "a\u0301", "\u0301a"), "==", "né")), '!x(été_1.a\u0301."\u0301a" == "né")'),
        (act("!x", guard("a", "<", 1.0), guard("a", ">=", 1e300)), "!x(a < 1.0, a >= 1e+300)"),
        (act("!x", guard("a", "==", 'say "hi"\n\u202e')), r'!x(a == "say \"hi\"\n\u202e")'),
        (Action("!", "2nd try", None, clauses=(guard("a", "==", None),)), '!"2nd try"(a == null)'),
    ],
)  # fmt: skip
def test_words_show_clauses_and_gates(action, text):
    assert word(action) == text


# --- comparisons ----------------------------------------------------------------------------------


def holds(field, operator, right):
    """The guard `x operator right`, once with a literal and once with a register that holds the same."""
    literal = step(start(act("!a", guard("x", operator, right))), "!", "a", None, {"x": field})
    keep = seq(act("?r", bind("r", "r")), act("!a", guard("x", operator, Reg("r"))))
    register = tell(run(keep, ("?r", {"r": right})), "!a", {"x": field})
    assert bool(literal) == bool(register)
    return bool(literal)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, 1.0),
        (0.0, -0.0),
        (10**400, 10**400),
        ("a", "a"),
        (True, True),
        (None, None),
        ([1, [2.0, "x"]], (1.0, (2, "x"))),
        ([], ()),
        (math.inf, math.inf),
    ],
)
def test_equal_values(left, right):
    assert holds(left, "==", right)
    assert not holds(left, "!=", right)
    assert holds(left, "in", (0.5, right))
    assert not holds(left, "not in", (0.5, right))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, True),
        (0, False),
        (1.0, True),
        (1, "1"),
        (True, "true"),
        (None, 0),
        (None, False),
        (None, ""),
        ("", ()),
        ([1], 1),
        ([1], (True,)),
        ([1, 2], (2, 1)),
        ([1, 2], (1,)),
        ([1], (1, 2)),
        ({}, ()),
        (2**53 + 1, float(2**53)),
        ("e\u0301", "\u00e9"),  # names are normalised, data never
        (NAN, NAN),
        ([NAN], (NAN,)),
        ([1, [NAN]], (1, (NAN,))),
    ],
)
def test_unequal_values(left, right):
    assert not holds(left, "==", right)
    assert holds(left, "!=", right)
    assert not holds(left, "in", (right,))
    assert holds(left, "not in", (right,))


def test_objects_are_equal_key_by_key_and_nan_spoils_them_too():
    protocol = seq(act("?r", bind("r", "r")), act("!a", guard("x", "==", Reg("r"))))

    def same(left, right):
        return bool(tell(run(protocol, ("?r", {"r": left})), "!a", {"x": right}))

    assert same({"a": 1, "b": [2]}, {"b": [2.0], "a": 1.0})
    assert not same({"a": 1}, {"a": True})
    assert not same({"a": 1}, {"b": 1})
    assert not same({"a": 1}, {"a": 1, "b": None})
    assert not same({"a": 1, "b": None}, {"a": 1})
    assert not same({"a": NAN}, {"a": NAN})
    assert not same({}, [])


@pytest.mark.parametrize(
    ("left", "right", "operators"),
    [
        (1, 2.5, "< <="),
        (2, 2.0, "<= >="),
        (-1, -2, "> >="),
        (2**53 + 1, float(2**53), "> >="),
        (10**400, math.inf, "< <="),
        ("Z", "a", "< <="),
        ("a", "a", "<= >="),
        ("\U00010000", "\uffff", "> >="),  # code points; UTF-16 would have it the other way
        ("10", "9", "< <="),
        (NAN, 1, ""),
        (1, NAN, ""),
        (1, "2", ""),
        ("2", 1, ""),
        (True, 2, ""),
        (False, True, ""),
        (None, None, ""),
        ([1], (2,), ""),
        ({}, 1, ""),
    ],
)
def test_order(left, right, operators):
    assert " ".join(o for o in ("<", "<=", ">", ">=") if holds(left, o, right)) == operators


@pytest.mark.parametrize("right", ["abc", 1, None, True])
def test_in_and_not_in_both_fail_without_a_list(right):
    assert not holds("a", "in", right)
    assert not holds("a", "not in", right)


def test_an_object_is_no_list():
    protocol = seq(act("?r", bind("r", "r")), choice(act("!a", guard("x", "in", Reg("r"))),
                                                     act("!b", guard("x", "not in", Reg("r")))))  # fmt: skip
    state = run(protocol, ("?r", {"r": {"k": 1}}))
    assert tell(state, "!a", {"x": "k"}) == REFUSED
    assert tell(state, "!b", {"x": "k"}) == REFUSED


def test_matches_searches_in_strings_only():
    state = start(act("!a", guard("x", "matches", "b+")))
    assert tell(state, "!a", {"x": "abba"})
    assert tell(state, "!a", {"x": "aca"}) == REFUSED
    assert tell(state, "!a", {"x": ["b"]}) == REFUSED
    assert tell(state, "!a", {"x": None}) == REFUSED


def test_what_is_no_json_is_an_error():
    with pytest.raises(TypeError, match="no JSON value"):
        tell(start(act("!a")), "!a", {"x": {1, 2}})
    with pytest.raises(TypeError, match="a payload is a mapping"):
        Session(act("B!a")).send("a", "B")


# --- paths ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "payload",
    [None, {}, {"order": None}, {"order": {}}, {"order": {"id": None}}, {"order": [{"id": {"no": 7}}]},
     {"order": "id"}, {"order.id.no": 7}, {"id": {"no": 7}}, {"order": {"id": {"No": 7}}}],
)  # fmt: skip
@pytest.mark.parametrize(
    "clause",
    [bind("order.id.no", "r"), into("order.id.no", "r"), guard("order.id.no", "!=", 8),
     guard("order.id.no", "not in", ())],
)  # fmt: skip
def test_a_path_that_does_not_lead_anywhere_fails_the_step(clause, payload):
    state = start(act("!a", clause))
    assert tell(state, "!a", {"order": {"id": {"no": 7}}})
    assert tell(state, "!a", payload) == REFUSED


def test_a_field_that_is_null_is_there():
    state = start(act("!a", bind("x", "r"), guard("x", "==", None)))
    assert tell(state, "!a", {"x": None})
    assert tell(state, "!a", {}) == REFUSED


def test_a_segment_with_a_dot_is_one_segment():
    state = start(act("!a", guard(("a.b",), "==", 1)))
    assert tell(state, "!a", {"a.b": 1})
    assert tell(state, "!a", {"a": {"b": 1}}) == REFUSED


# --- registers ------------------------------------------------------------------------------------


def test_the_payment_of_the_language_reference():
    # ?quote(total as t).!pay(amount <= t, currency == "EUR").?{receipt(order.id as o), failed.end}
    # .!file(order.id == o, reason != null).end
    protocol = seq(
        act("?quote", bind("total", "t")),
        act("!pay", guard("amount", "<=", Reg("t")), guard("currency", "==", "EUR")),
        choice(act("?receipt", bind("order.id", "o")), seq("?failed", End())),
        act("!file", guard("order.id", "==", Reg("o")), guard("reason", "!=", None)),
        End(),
    )
    session = Session(protocol, mode="refuse")
    pay = '!pay(amount <= t, currency == "EUR")'
    assert session.receive("quote", {"total": 10}) == Verdict("ok")
    assert session.send("pay", {"amount": 10.5, "currency": "EUR"}) == Verdict("violation", (pay,), "protocol")
    assert session.send("pay", {"amount": "9", "currency": "EUR"}).kind == "violation"
    assert session.send("pay", {"amount": 9}).kind == "violation"
    assert session.send("pay", {"amount": 9.5, "currency": "EUR"}) == Verdict("ok")
    assert session.allowed() == ["?failed", "?receipt(order.id as o)"]
    assert session.receive("receipt", {"order": {"id": "A7"}}) == Verdict("ok")
    assert session.send("file", {"order": {"id": "A7"}, "reason": None}).kind == "violation"
    assert session.send("file", {"order": {"id": "A8"}, "reason": "x"}).kind == "violation"
    assert session.send("file", {"order": {"id": "A7"}}).kind == "violation"
    assert session.send("file", {"order": {"id": "A7"}, "reason": "x"}) == Verdict("ok")
    assert session.close() == Verdict("ok")


def test_a_guard_sees_what_an_earlier_clause_of_its_step_bound():
    # !a(x as r, y == r)
    state = start(act("!a", bind("x", "r"), guard("y", "==", Reg("r"))))
    assert tell(state, "!a", {"x": 1, "y": 1})
    assert tell(state, "!a", {"x": 1, "y": 2}) == REFUSED


def test_a_guard_does_not_see_what_a_later_clause_binds():
    # ?r(x as r).!a(y == r, x as r).!b(x == r)
    protocol = seq(act("?r", bind("x", "r")), act("!a", guard("y", "==", Reg("r")), bind("x", "r")),
                   act("!b", guard("x", "==", Reg("r"))))  # fmt: skip
    state = run(protocol, ("?r", {"x": 1}))
    assert tell(state, "!a", {"x": 2, "y": 2}) == REFUSED
    state = tell(state, "!a", {"x": 2, "y": 1})
    assert tell(state, "!b", {"x": 2})
    assert tell(state, "!b", {"x": 1}) == REFUSED


def test_of_two_bindings_in_one_step_the_later_counts():
    protocol = seq(act("?r", bind("x", "r"), bind("y", "r")), act("!b", guard("x", "==", Reg("r"))))
    state = run(protocol, ("?r", {"x": 1, "y": 2}))
    assert tell(state, "!b", {"x": 2})
    assert tell(state, "!b", {"x": 1}) == REFUSED


def test_a_refused_step_binds_and_collects_nothing():
    # rec L.?{put(x as r, x into s, ok == true).L, get(x == r).L, find(x in s).L}
    protocol = Recursion("L", choice(
        seq(act("?put", bind("x", "r"), into("x", "s"), guard("ok", "==", TRUE)), Variable("L")),
        seq(act("?get", guard("x", "==", Reg("r"))), Variable("L")),
        seq(act("?find", guard("x", "in", Reg("s"))), Variable("L")),
    ))  # fmt: skip
    session = Session(protocol, mode="refuse")
    assert session.receive("put", {"x": 1, "ok": True}).kind == "ok"
    assert session.receive("put", {"x": 2, "ok": False}).kind == "violation"
    assert session.receive("get", {"x": 2}).kind == "violation"
    assert session.receive("find", {"x": 2}).kind == "violation"
    assert session.receive("get", {"x": 1}).kind == "ok"
    assert session.receive("find", {"x": 1}).kind == "ok"


def test_a_branch_that_fails_half_way_leaves_nothing_to_its_sibling():
    # ?r(x as r).?{m(x as r, y == 1).!p, m(y == 2)}.!q(x == r)
    protocol = seq(
        act("?r", bind("x", "r")),
        choice(seq(act("?m", bind("x", "r"), guard("y", "==", 1)), "!p"), act("?m", guard("y", "==", 2))),
        act("!q", guard("x", "==", Reg("r"))),
    )
    state = run(protocol, ("?r", {"x": "old"}), ("?m", {"x": "new", "y": 2}))
    assert tell(state, "!q", {"x": "old"})
    assert tell(state, "!q", {"x": "new"}) == REFUSED


def test_values_are_copied_when_they_are_bound():
    protocol = seq(act("?r", bind("x", "r"), into("x.list", "s")),
                   choice(act("!a", guard("x", "==", Reg("r"))), act("!b", guard("x", "in", Reg("s")))))  # fmt: skip
    payload = {"x": {"list": [1, [2]]}}
    state = run(protocol, ("?r", payload))
    payload["x"]["list"][1].append(3)
    payload["x"]["list"].append(4)
    assert tell(state, "!a", {"x": {"list": [1, [2]]}})
    assert tell(state, "!a", payload) == REFUSED
    assert tell(state, "!b", {"x": [2]})
    assert tell(state, "!b", {"x": [2, 3]}) == REFUSED


def test_a_register_unbound_on_this_way_fails_every_guard():
    # ?{a(x as r), b}.!c(x OP r)
    for operator in ("==", "!=", "<", "in", "not in"):
        protocol = seq(choice(act("?a", bind("x", "r")), act("?b")), act("!c", guard("x", operator, Reg("r"))))
        assert tell(run(protocol, "?b"), "!c", {"x": 1}) == REFUSED
    assert tell(run(protocol, ("?a", {"x": []})), "!c", {"x": 1})


def test_registers_live_on_through_loops_until_they_are_bound_again():
    # rec L.?{set(x as r).L, use(x == r).L}
    protocol = Recursion("L", choice(seq(act("?set", bind("x", "r")), Variable("L")),
                                     seq(act("?use", guard("x", "==", Reg("r"))), Variable("L"))))  # fmt: skip
    state = run(protocol, ("?set", {"x": 1}), ("?use", {"x": 1}), ("?use", {"x": 1}))
    assert state == run(protocol, ("?set", {"x": 1}))
    state = tell(state, "?set", {"x": 2})
    assert tell(state, "?use", {"x": 1}) == REFUSED
    assert tell(state, "?use", {"x": 2})


def test_states_keep_unlike_values_apart():
    protocol = act("!a", bind("x", "r"))
    states = {run(protocol, ("!a", {"x": x})) for x in (1, True, "1", None, [1], {"1": 1})}
    assert len(states) == 6
    assert run(protocol, ("!a", {"x": {"a": [1], "b": 2}})) == run(protocol, ("!a", {"x": {"b": 2.0, "a": [1.0]}}))


# --- sets -----------------------------------------------------------------------------------------


def collector():
    # rec L.?{page(refs into known).L, click(ref in known).L, skip(ref not in known).L}
    return Recursion("L", choice(
        seq(act("?page", into("refs", "known")), Variable("L")),
        seq(act("?click", guard("ref", "in", Reg("known"))), Variable("L")),
        seq(act("?skip", guard("ref", "not in", Reg("known"))), Variable("L")),
    ))  # fmt: skip


def members(*pages):
    """Which of a few values the set holds after these pages."""
    state = run(collector(), *(("?page", {"refs": refs}) for refs in pages))
    probes = (1, True, "1", None, "a", [1, 2], {"k": 1})
    found = [probe for probe in probes if tell(state, "?click", {"ref": probe})]
    assert [probe for probe in probes if not tell(state, "?skip", {"ref": probe})] == found
    return found


def test_a_set_starts_empty_and_not_unbound():
    assert members() == []


def test_elements_of_lists_and_single_values_add_up():
    assert members(["a", 1], [], "1") == [1, "1", "a"]
    assert members(("a",)) == ["a"]
    assert members(None) == [None]
    assert members({"k": 1.0}) == [{"k": 1}]


def test_only_the_outermost_list_is_taken_apart():
    assert members([[1, 2]]) == [[1, 2]]
    assert members([1, 2]) == [1]


def test_unlike_values_stay_apart_in_a_set_and_numbers_do_not():
    assert members([1.0]) == [1]
    assert members([True]) == [True]
    assert members(["1"]) == ["1"]


def test_nan_is_in_no_set():
    state = run(collector(), ("?page", {"refs": [NAN, [NAN]]}))
    assert tell(state, "?click", {"ref": NAN}) == REFUSED
    assert tell(state, "?click", {"ref": [NAN]}) == REFUSED
    assert tell(state, "?skip", {"ref": NAN})


def test_a_set_is_read_by_a_later_clause_of_the_same_step():
    state = start(act("!a", into("x", "s"), guard("y", "in", Reg("s"))))
    assert tell(state, "!a", {"x": [1], "y": 1})
    assert tell(state, "!a", {"x": [1], "y": 2}) == REFUSED


def test_a_set_equals_no_list_and_has_no_order():
    # ?s(x into s).{!eq(x == s), !ne(x != s), !lt(x < s)}
    protocol = seq(act("?s", into("x", "s")), choice(
        act("!eq", guard("x", "==", Reg("s"))), act("!ne", guard("x", "!=", Reg("s"))),
        act("!lt", guard("x", "<", Reg("s"))),
    ))  # fmt: skip
    state = run(protocol, ("?s", {"x": [1]}))
    assert tell(state, "!eq", {"x": [1]}) == REFUSED
    assert tell(state, "!ne", {"x": [1]})
    assert tell(state, "!lt", {"x": 0}) == REFUSED


def test_a_bound_list_is_replaced_where_a_set_grows():
    # rec L.?{snapshot(refs as last).L, click(ref in last).L}
    protocol = Recursion("L", choice(seq(act("?snapshot", bind("refs", "last")), Variable("L")),
                                     seq(act("?click", guard("ref", "in", Reg("last"))), Variable("L"))))  # fmt: skip
    state = run(protocol, ("?snapshot", {"refs": [1, 2]}), ("?click", {"ref": 2}), ("?snapshot", {"refs": [3]}))
    assert tell(state, "?click", {"ref": 2}) == REFUSED
    assert tell(state, "?click", {"ref": 3})


# --- choices told apart by data -------------------------------------------------------------------


def test_a_guard_that_fails_disables_its_branch_only():
    # ?{r(n > 0).!pos, r(n < 0).!neg, r(n == null).!none}
    protocol = choice(seq(act("?r", guard("n", ">", 0)), "!pos"), seq(act("?r", guard("n", "<", 0)), "!neg"),
                      seq(act("?r", guard("n", "==", None)), "!none"))  # fmt: skip
    assert [legal(tell(start(protocol), "?r", {"n": n})) for n in (5, -5, None, 0, "5", NAN)] == [
        "!pos", "!neg", "!none", "", "", "",
    ]  # fmt: skip
    assert tell(start(protocol), "?r") == REFUSED


def overlapping():
    # ?{r(n > 0).!p, r(m > 0).!q}
    return choice(seq(act("?r", guard("n", ">", 0)), "!p"), seq(act("?r", guard("m", ">", 0)), "!q"))


def test_two_branches_that_could_both_take_an_event_refuse_it():
    state = start(overlapping())
    assert legal(tell(state, "?r", {"n": 1, "m": 0})) == "!p"
    assert legal(tell(state, "?r", {"m": 1})) == "!q"
    assert tell(state, "?r", {"n": 1, "m": 1}) == REFUSED
    words = ("?r(m > 0)", "?r(n > 0)")
    assert Session(overlapping()).receive("r", {"n": 1, "m": 1}) == Verdict("violation", words, "protocol")


def test_it_does_not_help_that_both_branches_lead_to_the_same():
    protocol = choice(act("?r", guard("n", ">", 0)), act("?r", guard("m", ">", 0)))
    assert tell(start(protocol), "?r", {"n": 1, "m": 1}) == REFUSED


def test_a_choice_is_one_choice_at_the_head_of_a_loop_and_behind_one_too():
    # rec L.{!r(n > 0).L, !r(m > 0)}, entered and jumped to
    loop = Recursion("L", choice(seq(act("!r", guard("n", ">", 0)), Variable("L")), act("!r", guard("m", ">", 0))))
    for state in (start(loop), run(loop, ("!r", {"n": 1})), run(seq("!x", loop), "!x")):
        assert tell(state, "!r", {"n": 1, "m": 1}) == REFUSED
        assert tell(state, "!r", {"n": 1})


def test_parts_may_both_take_an_event_each_with_its_registers():
    # (!s(x as p).!u(x == p) | !s(y as q).!v(y == q))
    protocol = par(seq(act("!s", bind("x", "p")), act("!u", guard("x", "==", Reg("p")))),
                   seq(act("!s", bind("y", "q")), act("!v", guard("y", "==", Reg("q")))))  # fmt: skip
    state = run(protocol, ("!s", {"x": 1, "y": 2}))
    assert len(state) == 2
    assert tell(state, "!u", {"x": 1})
    assert tell(state, "!v", {"y": 2})
    assert tell(state, "!u", {"x": 2}) == REFUSED
    state = tell(state, "!s", {"x": 3, "y": 4})  # either the first part took 1 and the second 4, or 3 and 2
    assert len(state) == 2
    assert tell(tell(state, "!u", {"x": 1}), "!v", {"y": 4})
    assert tell(tell(state, "!u", {"x": 3}), "!v", {"y": 2})
    assert tell(tell(state, "!u", {"x": 1}), "!v", {"y": 2}) == REFUSED


def test_an_ambiguous_choice_inside_a_part_refuses_the_event():
    # (?{r(n > 0).!p, r(m > 0).!q} | !z)
    state = run(par(overlapping(), act("!z")))
    assert tell(state, "?r", {"n": 1})
    assert tell(state, "?r", {"n": 1, "m": 1}) == REFUSED


def test_one_ambiguous_possibility_spoils_the_event():
    # (!s.?{r(n > 0).!p, r(m > 0).!q} | !s.?r.!o)
    protocol = par(seq("!s", overlapping()), seq("!s", "?r", "!o"))
    state = run(protocol, "!s")
    assert len(tell(state, "?r", {"n": 1})) == 2
    assert len(tell(state, "?r")) == 1
    assert tell(state, "?r", {"n": 1, "m": 1}) == REFUSED


def test_a_part_and_what_follows_are_two_points():
    # ({!a(n > 0).!x, end} | !b).!a(m > 0).!y
    protocol = seq(par(choice(seq(act("!a", guard("n", ">", 0)), "!x"), End()), act("!b")),
                   act("!a", guard("m", ">", 0)), "!y")  # fmt: skip
    state = run(protocol, "!b")
    assert legal(tell(state, "!a", {"n": 1, "m": 1})) == "!x !y"
    assert legal(tell(state, "!a", {"m": 1})) == "!y"


def test_an_interleaving_and_an_equal_one_behind_it_are_two_points():
    # ({!a.!x, end} | {!b, end}).({!a.!x, end} | {!b, end})
    parts = par(choice(seq("!a", "!x"), End()), choice(act("!b"), End()))
    state = run(seq(parts, parts), "!a")
    assert len(state) == 2
    assert legal(tell(state, "!x")) == "!a !b"


def test_equal_parts_are_two_points_and_one_possibility():
    protocol = par(act("!a", guard("n", ">", 0)), act("!a", guard("n", ">", 0)))
    assert len(run(protocol, ("!a", {"n": 1}))) == 1


def test_moves_and_completeness_do_not_look_at_data():
    # {!a(x == r).end, !b(x < "s", x > "s")}: nothing has bound r, and nothing lies between
    protocol = choice(act("!a", guard("x", "==", Reg("r"))), act("!b", guard("x", "<", "s"), guard("x", ">", "s")))
    assert legal(start(protocol)) == '!a(x == r) !b(x < "s", x > "s")'
    # rec L.?a.{!b(x in []).end, !c.L}: the end counts as within reach
    protocol = Recursion("L", seq("?a", choice(act("!b", guard("x", "in", ())), seq("!c", Variable("L")))))
    assert not is_complete(run(protocol, "?a", "!c"))


# --- partners -------------------------------------------------------------------------------------


def test_silence_about_the_partner_matters_among_enabled_actions_only():
    # {B!x(n > 0).!b, C!x(n > 5).!c}
    protocol = choice(seq(act("B!x", guard("n", ">", 0)), "!b"), seq(act("C!x", guard("n", ">", 5)), "!c"))
    assert legal(tell(start(protocol), "!x", {"n": 1})) == "!b"
    assert tell(start(protocol), "!x", {"n": 0}) == REFUSED
    with pytest.raises(ValueError, match=r"`!x` could be with any of \['B', 'C'\]"):
        tell(start(protocol), "!x", {"n": 9})
    assert legal(tell(start(protocol), "C!x", {"n": 9})) == "!c"
    session = Session(protocol)
    with pytest.raises(ValueError, match="could be with"):
        session.send("x", {"n": 9})
    assert session.send("x", {"n": 9}, to="B") == Verdict("ok")


def test_a_branch_for_one_partner_and_one_for_any_can_be_ambiguous():
    # {B!x(n > 0).!b, !x(m > 0).!any}
    protocol = choice(seq(act("B!x", guard("n", ">", 0)), "!b"), seq(act("!x", guard("m", ">", 0)), "!any"))
    both = {"n": 1, "m": 1}
    assert tell(start(protocol), "B!x", both) == REFUSED
    assert tell(start(protocol), "!x", both) == REFUSED
    assert legal(tell(start(protocol), "C!x", both)) == "!any"


# --- gates ----------------------------------------------------------------------------------------

APPROVAL = act("?Approval", gated=True)


@pytest.mark.parametrize("by", [None, "", True, 1])
def test_a_gate_does_not_open_without_a_name(by):
    assert tell(start(APPROVAL), "?Approval", by=by) == REFUSED
    assert Session(APPROVAL).receive("Approval", by=by) == Verdict("violation", ("?Approval by human",), "protocol")


def test_a_gate_opens_to_a_person():
    assert tell(start(APPROVAL), "?Approval", by="ana")
    assert Session(APPROVAL).receive("Approval", None, None, "ana") == Verdict("ok")


def test_a_name_in_the_payload_or_as_the_sender_is_no_person():
    assert tell(start(APPROVAL), "?Approval", {"by": "ana"}) == REFUSED
    assert Session(APPROVAL).receive("Approval", sender="ana").kind == "violation"


def test_a_person_may_make_any_step():
    assert tell(start(act("?Approval")), "?Approval", by="ana")


def test_a_gate_does_not_stand_in_for_the_guard():
    state = start(act("?Approval", guard("ok", "==", TRUE), gated=True))
    assert tell(state, "?Approval", {"ok": False}, "ana") == REFUSED
    assert tell(state, "?Approval", {"ok": True}, "ana")
    assert tell(state, "?Approval", {"ok": True}) == REFUSED


def test_a_gated_branch_beside_an_open_one_is_ambiguous_for_a_person():
    # ?{Approval by human.!a, Approval.!b}
    protocol = choice(seq(APPROVAL, "!a"), seq("?Approval", "!b"))
    assert legal(tell(start(protocol), "?Approval")) == "!b"
    assert tell(start(protocol), "?Approval", by="ana") == REFUSED


# --- sessions -------------------------------------------------------------------------------------


def test_the_payload_is_the_second_argument_and_the_partner_the_third():
    protocol = seq(act("B!a", bind("x", "r")), act("B?b", guard("x", "==", Reg("r"))))
    session = Session(protocol)
    assert session.send("a", {"x": 1}, "B") == Verdict("ok")
    assert session.receive("b", {"x": 1}, "B") == Verdict("ok")


def test_an_unrecognized_event_that_a_branch_names_is_an_event_like_any_other():
    protocol = choice(act("?Unrecognized", guard("sure", "==", FALSE)), act("?Fine"))
    session = Session(protocol, "refuse")
    words = ("?Fine", "?Unrecognized(sure == false)")
    assert session.receive("Unrecognized") == Verdict("violation", words, "protocol")
    assert session.receive("Unrecognized", {"sure": False}) == Verdict("ok")
