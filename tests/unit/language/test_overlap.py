"""Whether guards can hold together: every claim is checked, the examples one by one, the denials by trying."""

import math
import random
from itertools import product

import pytest

from accord import ContractError, compile
from accord.language.checks.overlap import NOT_DECIDED, example_payload
from accord.language.clauses import Bind, Guard, Register, Value
from accord.machine.guards import compile_check
from accord.machine.tables import Symbol
from accord.semantics.data import EMPTY_SET, accept, freeze

LITERALS = (
    *(
        0,
        1,
        2,
        1.0,
        1.5,
        -1,
        2**53,
        True,
        False,
        None,
        "",
        "a",
        "b",
        "ab",
        "a\0",
        (),
        (1,),
        (1, "a"),
        (True, None),
        ((),),
    ),
)
SCALAR_LISTS = ((0, 1), ("a", "b"), (None, True), (1.5,), (), ("a", 1, (1,)))
PATTERNS = ("^a", "b$", "", "^$", "x")
ORDERS = ("==", "!=", "<", "<=", ">", ">=")
PATHS = (("x",), ("y",), ("x", "z"))


def random_guard(random_, paths=PATHS):
    path = random_.choice(paths)
    kind = random_.random()
    if kind < 0.2:
        return Guard(path, random_.choice(("in", "not in")), Value(random_.choice(SCALAR_LISTS)))
    if kind < 0.3:
        return Guard(path, "matches", Value(random_.choice(PATTERNS)))
    return Guard(path, random_.choice(ORDERS), Value(random_.choice(LITERALS)))


def asking(guards):
    """What the monitor's own check says to a payload; the reference says the same."""
    check = compile_check(Symbol("!", "a", None, tuple(guards)), {}, 10)

    def accepts(payload):
        said = check(payload, None, ()) is not None
        assert said == (accept(guards, freeze(payload), frozenset()) is not None)
        return said

    return accepts


def accepts(guards, payload):
    return asking(guards)(payload)


# Values between and beside the literals, so that a denial is tried where it would be wrong first.
TRIED = (
    *(
        None,
        True,
        False,
        0,
        1,
        2,
        -1,
        -2,
        0.5,
        1.25,
        1.5,
        1.75,
        2.5,
        3,
        2**53,
        2**53 + 1,
        1e300,
        -1e300,
        math.inf,
        math.nan,
    ),
    *("", "\0", "a", "a\0", "a\0\0", "aa", "ab", "ab\0", "abb", "b", "b\0", "c", "text", "xb", "axb"),
    *([], [1], [1.0], [1, "a"], [True, None], [[]], [2], {}, {"z": 1}),
)


def test_random_guards(health):
    random_ = random.Random(1)
    counts = {"example": 0, "never": 0, "open": 0}
    for _ in range(1000):
        guards = [random_guard(random_) for _ in range(random_.randrange(1, 5))]
        claim = example_payload(guards)
        if claim == NOT_DECIDED:
            counts["open"] += 1
        elif claim is None:
            counts["never"] += 1
            payloads = (
                {"x": x if z is None else {"z": z}, "y": y}
                for x, y, z in ((*random_.choices(TRIED, k=2), random_.choice((None, *TRIED))) for _ in range(60))
            )
            assert not any(map(asking(guards), payloads)), guards
        else:
            counts["example"] += 1
            assert accepts(guards, claim), (guards, claim)
    assert min(counts.values()) > 30
    health(f"overlap: {counts['example']:,} examples, {counts['never']:,} denials, {counts['open']:,} left open")


def test_guards_on_one_field_are_tried_with_every_value():
    random_ = random.Random(2)
    denied = 0
    for _ in range(700):
        guards = [random_guard(random_, paths=(("x",),)) for _ in range(random_.randrange(2, 4))]
        claim = example_payload(guards)
        if claim is None:
            denied += 1
            asked = asking(guards)
            fitting = [value for value in TRIED if asked({"x": value})]
            assert fitting == [], guards
        elif claim != NOT_DECIDED:
            assert accepts(guards, claim), (guards, claim)
    assert denied > 150


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (2**53, 2**53 + 2),
        (10**400, 10**400 + 2),
        (-(10**400), 10**400),
        (1e308, 1.7e308),
        (10**320, 1e308),
        (0, 5e-324 * 2),
        ("a", "b"),
        ("a", "a\0\0"),
        ("", "a"),
    ],
    ids=range(9),
)
def test_there_is_something_between(low, high):
    low, high = sorted((low, high))
    guards = [Guard(("x",), ">", Value(low)), Guard(("x",), "<", Value(high))]
    claim = example_payload(guards)
    assert isinstance(claim, dict)
    assert accepts(guards, claim)


@pytest.mark.parametrize("literal", [1e16, -1e18, 1.7e308, 10**400, 2**53, "\U0010ffff"], ids=range(6))
@pytest.mark.parametrize("operator", ORDERS)
def test_there_is_something_on_each_side(literal, operator):
    guards = [Guard(("x",), operator, Value(literal))]
    claim = example_payload(guards)
    assert isinstance(claim, dict)
    assert accepts(guards, claim)


@pytest.mark.parametrize(("first", "second"), list(product((*ORDERS, "in", "not in"), repeat=2)))
def test_comparisons_with_a_register(first, second):
    """`None` is claimed only if no value of the field and of the register satisfies both."""
    guards = [Guard(("x",), first, Register("r")), Guard(("x",), second, Register("r"))]
    claim = example_payload(guards)
    assert claim in (None, NOT_DECIDED)
    check = compile_check(Symbol("!", "a", None, tuple(guards)), {"r": 0}, 10)
    held = [freeze_for_machine(value) for value in TRIED]
    possible = any(check({"x": value}, None, (register,)) is not None for value in TRIED for register in held)
    if claim is None:
        assert not possible
    if {first, second} in ({"==", "!="}, {"<", ">="}, {">", "<="}, {"in", "not in"}):
        assert claim is None


def freeze_for_machine(value):
    from accord.language.values import freeze as freeze_value

    return freeze_value(value)


def test_a_register_that_the_step_changes_contradicts_nothing():
    assert example_payload(
        [Guard(("x",), "==", Register("r")), Bind(("y",), "r"), Guard(("x",), "!=", Register("r"))]
    ) == (NOT_DECIDED)


def test_the_example_of_two_branches_is_taken_by_both():
    """What binds wants its field, so the payload that shows the overlap must have it."""
    first = (Bind(("x",), "r"), Guard(("y",), ">=", Value(1)))
    second = (Guard(("y",), "<=", Value(1)),)
    claim = example_payload([*first, *second])
    assert isinstance(claim, dict)
    for clauses in (first, second):
        assert accept(clauses, freeze(claim), frozenset({("s", EMPTY_SET)})) is not None


def test_a_register_that_one_branch_writes_is_not_the_same_to_both():
    compile("?a(x as r).!{b(y == r).end, b(z as r, y == r).end}")
    with pytest.raises(ContractError, match="E042"):
        compile("?a(x as r).!{b(y == r).end, b(z as s, y == r).end}")
