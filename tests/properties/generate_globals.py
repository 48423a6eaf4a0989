"""Random protocols between roles, well-formed by construction, from a seed.

Who speaks next is mostly who was spoken to last: a protocol of messages between strangers is nearly never one that its
roles can follow, and both kinds are wanted.
"""

from __future__ import annotations

from random import Random

from accord.language.global_tree import (
    Continue,
    Exchange,
    GlobalChoice,
    GlobalLoop,
    GlobalProtocol,
    Parallel,
)

ROLES = ("A", "B", "C", "D")
LABELS = ("x", "y", "z")


def random_global(rng: Random, *, parts: bool = False) -> GlobalProtocol:
    """A random protocol; `parts` says whether it may have `par`."""
    return GlobalProtocol("P", _Generator(rng, parts=parts).block(rng.randint(1, 3), None, (), fresh=True)[0])


class _Generator:
    def __init__(self, rng: Random, *, parts: bool) -> None:
        self.rng = rng
        self.parts = parts
        self.roles = ROLES[: rng.choice((3, 4, 4) if parts else (2, 3, 3, 3, 4))]
        self.room = rng.randint(3, 14) if parts or rng.random() < 0.8 else 40
        self.loops = 0

    def other(self, role: str) -> str:
        return self.rng.choice([name for name in self.roles if name != role])

    def speaker(self, last: str | None) -> str:
        return last if last is not None and self.rng.random() < 0.7 else self.rng.choice(self.roles)

    def exchange(self, sender: str) -> Exchange:
        self.room -= 1
        return Exchange(sender, self.other(sender), self.rng.choice(LABELS))

    def block(self, depth, last, loops, *, fresh):
        """A block, who was spoken to last in it, and whether one can get past its end.

        It is `fresh` where no message has been exchanged since the loops around it began.
        """
        rng = self.rng
        steps = []
        if not fresh and loops and rng.random() < 0.15:
            return (Continue(rng.choice(loops)),), last, False
        for _ in range(rng.randint(1, 4)):
            kind = rng.random()
            if depth == 0 or self.room <= 0 or kind < 0.5:
                step = self.exchange(self.speaker(last))
                last = step.receiver
                steps.append(step)
            elif kind < (0.7 if self.parts else 0.8):
                step, last, passes = self.choice(depth, last, loops)
                steps.append(step)
                if not passes:
                    return tuple(steps), last, False
            elif kind < 0.8 or not self.parts:
                step, last, passes = self.loop(depth, last, loops)
                steps.append(step)
                if not passes:
                    return tuple(steps), last, False
            else:
                first, one, passes = self.block(depth - 1, last, (), fresh=True)
                second, _, too = self.block(depth - 1, last, (), fresh=True)
                steps.append(Parallel((first, second)))
                last = one
                if not (passes and too):
                    return tuple(steps), last, False
        if loops and rng.random() < 0.3:
            return (*steps, Continue(rng.choice(loops))), last, False
        return tuple(steps), last, True

    def loop(self, depth, last, loops):
        self.loops += 1
        name = f"L{self.loops}"
        head = self.exchange(self.speaker(last)) if self.rng.random() < 0.3 else None
        if head is not None:
            body, last, passes = self.block(depth - 1, head.receiver, (*loops, name), fresh=False)
            return GlobalLoop(name, (head, *body)), last, passes
        body, last, passes = self.block(depth - 1, last, (*loops, name), fresh=True)
        return GlobalLoop(name, body), last, passes

    def choice(self, depth, last, loops):
        rng = self.rng
        decider = self.speaker(last)
        branches, seen, passes = [], set(), False
        receiver = self.other(decider)
        for _ in range(rng.randint(2, 3)):
            head = Exchange(decider, receiver if rng.random() < 0.8 else self.other(decider), rng.choice(LABELS))
            if (head.receiver, head.label) in seen:
                continue
            seen.add((head.receiver, head.label))
            self.room -= 1
            if rng.random() < 0.6:
                rest, last, through = self.block(depth - 1, head.receiver, loops, fresh=False)
            elif loops and rng.random() < 0.4:
                rest, through = (Continue(rng.choice(loops)),), False
            else:
                rest, last, through = (), head.receiver, True
            branches.append((head, *rest))
            passes = passes or through
        crash = None
        if rng.random() < 0.1:
            others = [role for role in self.roles if role != decider]
            if len(others) > 1:
                noticing, told = rng.sample(others, 2)
                crash = (Exchange(noticing, told, rng.choice(LABELS)),)
                passes = True
        return GlobalChoice(decider, tuple(branches), crash), last, passes
