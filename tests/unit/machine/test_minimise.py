"""Minimisation against a naive minimiser, on machines small enough to check by hand."""

import random

import pytest

import accord
from accord.machine.configurations import enter, is_complete, moves
from accord.machine.minimise import minimise
from accord.machine.tables import Fork, Machine, Plain, Symbol

SYMBOLS = (Symbol("!", "a"), Symbol("!", "b"), Symbol("?", "a"))


def random_machine(random_, forks):
    count = random_.randrange(1, 9)
    states = []
    for number in range(count):
        stop = random_.choice((None, None, None, "end", "pause"))
        if forks and number < count - 1 and random_.random() < 0.25:
            # Only forward, so that no configuration is infinite.
            parts = tuple(random_.randrange(number + 1, count) for _ in range(random_.randrange(2, 4)))
            states.append(Fork(parts, random_.randrange(number + 1, count), stop if stop == "pause" else None))
        else:
            symbols = [s for s in range(len(SYMBOLS)) if random_.random() < 0.5]
            random_.shuffle(symbols)
            low = number + 1 if forks else 0
            targets = [random_.randrange(low, count) for _ in symbols] if low < count else []
            states.append(Plain(tuple(zip(symbols, targets, strict=False)), stop))
    return Machine(SYMBOLS, tuple(states), "random")


def signature(machine, state, class_of):
    if isinstance(state, Fork):
        return ("fork", state.stop, tuple(sorted(class_of[p] for p in state.parts)), class_of[state.join])
    return ("plain", state.stop, tuple(sorted((machine.symbols[s], class_of[t]) for s, t in state.edges)))


def naive_classes(machine):
    """Moore's algorithm, as plainly as possible: split until nothing splits. The parts of a fork have no order."""
    reachable, todo = {0}, [0]
    while todo:
        state = machine.states[todo.pop()]
        targets = (*state.parts, state.join) if isinstance(state, Fork) else [t for _, t in state.edges]
        todo += [t for t in targets if t not in reachable]
        reachable.update(targets)
    class_of = dict.fromkeys(reachable, 0)
    while True:
        signatures = {n: (class_of[n], signature(machine, machine.states[n], class_of)) for n in reachable}
        numbers = {s: i for i, s in enumerate(dict.fromkeys(signatures[n] for n in sorted(reachable)))}
        refined = {n: numbers[signatures[n]] for n in reachable}
        if len(set(refined.values())) == len(set(class_of.values())):
            return refined
        class_of = refined


def language(machine, depth):
    """Every trace up to a length, with whether the session is complete behind it."""
    found = {}
    level = {(): frozenset({enter(machine, 0)})}
    for _ in range(depth):
        following = {}
        for trace, configurations in level.items():
            found[trace] = any(is_complete(machine, c) for c in configurations)
            for configuration in configurations:
                for symbol, after, _ in moves(machine, configuration):
                    key = (*trace, machine.symbols[symbol])
                    following[key] = following.get(key, frozenset()) | {after}
        level = following
    return found


def test_plain_machines_are_as_small_as_they_can_be():
    random_ = random.Random(1)
    smaller = 0
    for _ in range(1000):
        machine = random_machine(random_, forks=False)
        small = minimise(machine)
        classes = len(set(naive_classes(machine).values()))
        assert len(small.states) == classes
        smaller += classes < len(machine.states)
        assert len(set(naive_classes(small).values())) == len(small.states)
        assert language(small, 4) == language(machine, 4)
    assert smaller > 250


def test_machines_with_forks_are_as_small_as_they_can_be():
    random_ = random.Random(2)
    forks = 0
    for _ in range(1000):
        machine = random_machine(random_, forks=True)
        forks += machine.has_forks
        small = minimise(machine)
        assert len(small.states) == len(set(naive_classes(machine).values())), machine
        assert language(small, 4) == language(machine, 4)
    assert forks > 250


def shuffled(machine, random_):
    """The same machine with states, symbols, edges and parts in another order, and a state nobody reaches."""
    order = list(range(1, len(machine.states)))
    random_.shuffle(order)
    new = {0: 0, **{old: index for index, old in enumerate(order, 1)}}
    symbol_order = list(range(len(machine.symbols)))
    random_.shuffle(symbol_order)
    new_symbol = {old: index for index, old in enumerate(symbol_order)}
    states = [None] * len(machine.states)
    for number, state in enumerate(machine.states):
        if isinstance(state, Fork):
            parts = [new[p] for p in state.parts]
            random_.shuffle(parts)
            states[new[number]] = Fork(tuple(parts), new[state.join], state.stop)
        else:
            edges = [(new_symbol[s], new[t]) for s, t in state.edges]
            random_.shuffle(edges)
            states[new[number]] = Plain(tuple(edges), state.stop)
    symbols = tuple(machine.symbols[s] for s in symbol_order)
    return Machine(symbols, (*states, Plain(((0, 0),), "end")), machine.name)


@pytest.mark.parametrize("forks", [False, True], ids=["plain", "forks"])
def test_the_numbering_depends_on_the_behaviour_alone(forks):
    random_ = random.Random(3)
    for _ in range(1000):
        machine = random_machine(random_, forks=forks)
        assert minimise(shuffled(machine, random_)) == minimise(machine)


def test_minimising_twice_changes_nothing():
    random_ = random.Random(4)
    for _ in range(500):
        small = minimise(random_machine(random_, forks=True))
        assert minimise(small) == small


def test_unused_symbols_and_states_are_dropped():
    machine = Machine(SYMBOLS, (Plain(((2, 1),)), Plain((), "end"), Plain(((0, 0),))), "m")
    assert minimise(machine) == Machine((Symbol("?", "a"),), (Plain(((0, 1),)), Plain((), "end")))
    assert minimise(machine).name == "m"


def test_stopping_and_pausing_are_told_apart():
    for left, right in (("end", "pause"), ("end", None), ("pause", None)):
        machine = Machine(SYMBOLS, (Plain(((0, 1), (1, 2))), Plain((), left), Plain((), right)))
        assert len(minimise(machine).states) == 3


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("(!a | ?b)", "(?b | !a)"),
        ("(!a.!x | !b | ?c)", "(?c | !a.!x | !b)"),
        ("!s.{!l.(!a | !b), !r.(!b | !a)}", "!s.{!l.(!b | !a), !r.(!b | !a)}"),
        ("((!a | !b) | (!b | !a))", "((!a | !b) | (!a | !b))"),
        ("?{a.!x, b.!x}", "?{a, b}.!x"),
        ("rec X.!a.?b.X", "rec X.!a.?b.rec Y.!a.?b.X"),
    ],
)
def test_texts_that_mean_the_same_are_the_same_machine(left, right):
    assert accord.compile(left).machine() == accord.compile(right).machine()


def test_a_machine_of_many_states_takes_little_time():
    # a cycle of 20,000 equal states: a quadratic algorithm would need minutes
    count = 20_000
    states = tuple(Plain(((0, (n + 1) % count),)) for n in range(count))
    assert len(minimise(Machine(SYMBOLS, states)).states) == 1
    chain = tuple(Plain(((0, min(n + 1, count - 1)),), "end" if n == count - 1 else None) for n in range(count))
    assert len(minimise(Machine(SYMBOLS, chain)).states) == count
