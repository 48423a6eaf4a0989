"""Random protocols between roles, well-formed by construction, from a seed.

Who speaks next is mostly who was spoken to last: a protocol of messages between strangers is nearly never one that its
roles can follow, and both kinds are wanted. So half of them are *tidy*: who decides tells everybody, and parts have
channels of their own. Everything may stand everywhere: what a block begins with is drawn like any
other step, only that where somebody has to speak first, it is that role that speaks in it. `cells` tells what stands
where, for the table of what was made.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from accord.language.global_firsts import Shapes
from accord.language.global_tree import (
    CRASH,
    Block,
    Call,
    Continue,
    Exchange,
    GlobalChoice,
    GlobalLoop,
    GlobalProtocol,
    Parallel,
)
from accord.language.tree import Document
from tests.census import Cell, Census

ROLES = ("A", "B", "C", "D")
FORMAL = ("F", "G", "H")
LABELS = ("x", "y", "z")
KINDS = ("message", "choice", "loop", "par", "do")
ANYWHERE = (50, 18, 12, 12, 8)
WHERE_ONE_SPEAKS_FIRST = (30, 30, 12, 14, 14)  # heads of branches, above all: every kind is wanted there
BEHIND_A_CHOICE = (30, 40, 10, 10, 10)  # where roles that were not told come to grief


def random_global(rng: Random, *, parts: bool = False) -> Document:
    """A random protocol, the first of the document, and those that it does; `parts` says whether it may have `par`."""
    generator = _Generator(rng, parts=parts)
    body, _, _ = generator.block(rng.randint(1, 4), None, ())
    return Document((GlobalProtocol("P", body), *generator.done))


class _Generator:
    def __init__(self, rng: Random, *, parts: bool) -> None:
        self.rng = rng
        self.parts = parts
        self.roles = ROLES[: rng.choice((3, 4, 4) if parts else (2, 3, 3, 3, 4))]
        self.room = rng.randint(3, 14) if parts or rng.random() < 0.8 else 40
        self.tidy = rng.random() < 0.5
        self.loops = 0
        self.done: list[GlobalProtocol] = []

    def other(self, role: str) -> str:
        return self.rng.choice([name for name in self.roles if name != role])

    def speaker(self, last: str | None) -> str:
        return last if last in self.roles and self.rng.random() < 0.7 else self.rng.choice(self.roles)

    def block(self, depth, last, loops, *, first=None):
        """A block, who was spoken to last in it, and whether one can get past its end.

        `first` is who has to speak first, if anybody has to. No block begins with `continue`: some loop around would
        turn without a message, or a branch would not tell which one it is.
        """
        steps: list = []
        passes = True
        for _ in range(self.rng.randint(1, 4)):
            kinds = ANYWHERE if steps or first is None else WHERE_ONE_SPEAKS_FIRST
            if steps and isinstance(steps[-1], GlobalChoice):
                kinds = BEHIND_A_CHOICE
            step, last, passes = self.step(depth, last, loops, first if not steps else None, kinds)
            steps.append(step)
            if not passes:
                return tuple(steps), last, False
        if loops and self.rng.random() < 0.3:
            return (*steps, Continue(self.rng.choice(loops))), last, False
        return tuple(steps), last, True

    def step(self, depth, last, loops, first, kinds):
        kind = "message"
        if depth > 0 and self.room > 0:
            kind = self.rng.choices(KINDS, kinds)[0]
        if kind == "choice":
            return self.choice(depth, last, loops, first)
        if kind == "do":
            return self.do(depth, last, first)
        if kind == "par" and self.parts:
            return self.par(depth, last, first)
        if kind in {"loop", "par"}:
            self.loops += 1
            name = f"L{self.loops}"
            body, last, passes = self.block(depth - 1, last, (*loops, name), first=first)
            return GlobalLoop(name, body), last, passes
        sender = first or self.speaker(last)
        self.room -= 1
        exchange = Exchange(sender, self.other(sender), self.rng.choice(LABELS))
        return exchange, exchange.receiver, True

    def par(self, depth, last, first):
        everybody = self.roles
        lead = first or self.speaker(last)
        groups = (everybody, everybody)
        if self.tidy and len(everybody) > 2:
            others = self.rng.sample([role for role in everybody if role != lead], len(everybody) - 1)
            cut = self.rng.randint(1, len(others) - 1)
            groups = ((lead, *others[:cut]), (lead, *others[cut:]))
        parts, through = [], True
        for self.roles in groups:
            part, last, passes = self.block(depth - 1, lead, (), first=first)
            parts.append(part)
            through = through and passes
        self.roles = everybody
        return Parallel(tuple(parts)), last, through

    def choice(self, depth, last, loops, first):
        rng = self.rng
        decider = first or self.speaker(last)
        branches, seen, passes, after = [], set(), False, last
        for number in range(rng.randint(2, 3)):
            for _ in range(3):  # tries to begin as no other branch does
                branch, spoken_to, through = self.branch(depth, decider, loops, LABELS[number])
                firsts = Shapes(self.done).firsts(branch)  # of crashes one is enough, whoever notices it
                begins = [(f.sender, "" if f.label == CRASH else f.receiver, f.label) for f in firsts]
                if seen.isdisjoint(begins):
                    branches.append(branch)
                    seen.update(begins)
                    passes = passes or through
                    after = spoken_to
                    break
        if not branches:
            exchange = Exchange(decider, self.other(decider), rng.choice(LABELS))
            return exchange, exchange.receiver, True
        crash = None
        if rng.random() < (0.6 if self.tidy else 0.3) and len(self.roles) > 2 and (decider, "", CRASH) not in seen:
            crash, through = self.crash(depth, decider, loops)
            passes = passes or through
        return GlobalChoice(decider, tuple(branches), crash), after, passes

    def branch(self, depth, decider, loops, label):
        """Mostly a message that tells it, and perhaps more; at times whatever the decider can begin."""
        rng = self.rng
        if rng.random() < 0.4:
            return self.block(depth - 1, decider, loops, first=decider)
        self.room -= 1
        head: tuple[Exchange, ...] = (Exchange(decider, self.other(decider), rng.choice(LABELS)),)
        if self.tidy:
            head = tuple(Exchange(decider, role, label) for role in self.roles if role != decider)
        last = head[-1].receiver
        kind = rng.random()
        if kind < 0.6:
            rest, last, through = self.block(depth - 1, last, loops)
            return (*head, *rest), last, through
        if loops and kind < 0.76:
            return (*head, Continue(rng.choice(loops))), last, False
        return head, last, True

    def crash(self, depth, decider, loops):
        """What follows if the decider fails: everything but with it, begun by one that notices."""
        everybody = self.roles
        self.roles = tuple(role for role in everybody if role != decider)
        noticing = self.rng.choice(self.roles)
        kind = self.rng.random()
        if kind < 0.3:  # another choice, which may have a crash again
            step, _, through = self.choice(depth, None, loops, noticing)
            block = (step,)
        elif kind < 0.5 and self.parts:
            step, _, through = self.par(depth, None, noticing)
            block = (step,)
        else:
            block, _, through = self.block(depth, None, loops, first=noticing)
        self.roles = everybody
        return block, through

    def do(self, depth, last, first):
        """Another protocol, played by some of the roles; one that is there already, if it fits."""
        rng = self.rng
        known = [protocol for protocol in self.done if len(protocol.roles) <= len(self.roles)]
        done = rng.choice(known) if known and rng.random() < 0.4 else self.another(depth)
        begins = Shapes(self.done).firsts(done.body)[0].sender
        lead = first or self.speaker(last)
        rest = rng.sample([role for role in self.roles if role != lead], len(done.roles) - 1)
        actual = {begins: lead, **dict(zip([role for role in done.roles if role != begins], rest, strict=True))}
        call = Call(done.name, tuple((role, actual[role]) for role in done.roles))
        return call, rng.choice(list(actual.values())), Shapes(self.done).step_passes(call)

    def another(self, depth) -> GlobalProtocol:
        everybody = self.roles
        self.roles = FORMAL[: self.rng.randint(2, min(len(everybody), len(FORMAL)))]
        body, _, _ = self.block(depth - 1, None, (), first=self.roles[0])
        self.roles = everybody
        self.done.append(GlobalProtocol(f"Q{len(self.done)}", body))
        return self.done[-1]


# -- what was made -----------------------------------------------------------------------------------------------------

NAMES = {
    Exchange: "message",
    GlobalChoice: "choice",
    GlobalLoop: "loop",
    Continue: "continue",
    Parallel: "par",
    Call: "do",
}
OWNERS = ("protocol", "done", "branch", "crash", "loop", "part")
PLACES = (
    *(f"{owner} head" for owner in OWNERS),
    *(f"behind {name}" for name in NAMES.values() if name != "continue"),
    "in a branch",
    "in a loop",
    "in a part",
    "last",
)
NEVER = {
    ("continue", "protocol head"): "no loop is around it (E021)",
    ("continue", "done head"): "no loop is around it (E021)",
    ("continue", "branch head"): "a branch tells which one it is (E033)",
    ("continue", "crash head"): "somebody notices (E033)",
    ("continue", "loop head"): "a loop turns with a message (E023)",
    ("continue", "part head"): "a part has to end before the loop around it goes on (E026)",
}


def census(title: str, *, parts: bool) -> Census:
    """An empty table for such protocols."""
    never = {("*", place): "made without `par`" for place in ("part head", "behind par", "in a part")}
    alone = NEVER if parts else {**never, ("par", "*"): "made without `par`", **NEVER}
    return Census(title, (*NAMES.values(), "crash"), PLACES, alone)


def cells(document: Document) -> Iterator[Cell]:
    """Each construct with each of the places at which it stands."""
    main, *done = document.globals
    yield from _block(main.body, "protocol", frozenset())
    for protocol in done:
        yield from _block(protocol.body, "done", frozenset())


def _block(block: Block, owner: str, inside: frozenset[str]) -> Iterator[Cell]:
    before = None
    for step in block:
        names = [NAMES[type(step)]]
        if isinstance(step, GlobalChoice) and step.crash is not None:
            names.append("crash")
        for name in names:
            yield name, f"{owner} head" if before is None else f"behind {before}"
            yield from ((name, f"in a {around}") for around in inside)
            if step is block[-1]:
                yield name, "last"
        before = names[0]
        match step:
            case GlobalChoice():
                for branch in step.branches:
                    yield from _block(branch, "branch", inside | {"branch"})
                yield from _block(step.crash or (), "crash", inside | {"branch"})
            case GlobalLoop():
                yield from _block(step.body, "loop", inside | {"loop"})
            case Parallel():
                for part in step.parts:
                    yield from _block(part, "part", inside | {"part"})
