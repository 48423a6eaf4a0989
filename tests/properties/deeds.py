"""What agents did while they ran: which protocols they followed, what they did where, how long they lived, what failed.

A protocol that is never followed with a small mailbox, beside another conversation or after a crash says little about
a run time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from accord.language.global_tree import CRASH
from accord.language.tree import Document
from tests.census import Cell, Census
from tests.properties import generate_globals
from tests.properties.made import block
from tests.properties.met import bracket

BEHIND = "behind another step"
PLACES = (*(place for place in generate_globals.PLACES if "behind" not in place), "behind message", BEHIND)
ROOMS = (1, 2, 100)
MAILBOXES = tuple(f"mailbox {room}" for room in ROOMS)
AT_ONCE = ("1", "2", "3 and more")
STEPS = ("nothing", "1 to 3", "4 to 15", "16 and more")
TAKES = ("handler takes", "`receive` takes", "handler takes crash", "`receive` takes crash")
DEEDS = ("sends", *TAKES, "leaves it to handlers", "crashes")
WHERE = ("beginning", "choice", "loop", "may send or receive", "after a restart")
CRASHES = ("0", "1", "2", "3", "4")
PLAYERS = ("2 roles", "3 roles", "4 roles", "1 opens", "2 open", "3 open")
SELDOM = block([TAKES[3]], [WHERE[3]], "not counted: hardly any parts have crashes beside sends")
TOO_MANY = 100  # constructs at places: roles can hardly ever follow larger protocols


class Deeds:
    """The tables of a campaign."""

    def __init__(self) -> None:
        names = (*generate_globals.NAMES.values(), "crash")
        self.protocols = Census("protocols that agents follow", names, PLACES, generate_globals.NEVER)
        waiting = [TAKES[1], TAKES[3], "leaves it to handlers"]
        never = block(waiting, ["beginning"], "one begins by sending or in a handler")
        never |= block(["leaves it to handlers", TAKES[0], TAKES[2]], [WHERE[3]], "who may send goes on")
        never |= SELDOM
        open_ = tuple(f"open: {number}" for number in AT_ONCE)
        self.steps = Census("what agents do", DEEDS, (*WHERE, *MAILBOXES, *open_), never)
        self.lives = Census(
            "steps of a life",
            ("whole", "until it crashes"),
            STEPS,
            {("until it crashes", "nothing"): "it is at a step"},
        )
        self.runs = Census("crashes in a run", CRASHES, (*MAILBOXES, *PLAYERS))
        self._tried: Counter[Cell] = Counter()

    def rarest(self, documents: Iterable[Document]) -> Document:
        """Of several protocols the one with what was tried least often; it counts as tried."""
        found = [(document, list(cells(document))) for document in documents]
        document, has = min(found, key=lambda one: (len(one[1]) > TOO_MANY, min(self._tried[cell] for cell in one[1])))
        self._tried.update(set(has))
        return document

    def did(self, deed: str, follower, state: int) -> None:
        """An agent did something in a state of its role."""
        life = follower.life
        where = [place for place in follower.plan.where(state) if (deed, place) not in SELDOM]
        places = [*where, f"mailbox {follower.crew.room}"]
        places.append(f"open: {bracket(max(1, len(life.conversations)), AT_ONCE)}")
        if life.name in follower.crew.crashed:
            places.append("after a restart")
        self.steps.add((deed, place) for place in places)

    def censuses(self) -> tuple[Census, ...]:
        """All tables."""
        return self.protocols, self.steps, self.lives, self.runs


class Plan:
    """What an agent knows of its role's machine before it starts."""

    def __init__(self, following) -> None:
        self.following = following
        self.far = self._distances()
        self._where = [tuple(self._places(state)) for state in range(len(following.machine.states))]

    def where(self, state: int) -> tuple[str, ...]:
        """What there is to say of a state."""
        return self._where[state]

    @property
    def need_not_end(self) -> bool:
        """Whether the role can be where there is no end."""
        return len(self.far) < len(self._where)

    def _distances(self) -> dict[int, int]:
        """For each state how many steps its end is away, if nobody crashes."""
        following, states = self.following, self.following.machine.states
        found = {number: 0 for number, state in enumerate(states) if state.stop == "end"}
        for _ in states:
            for number in range(len(states)):
                steps = [following.after(number, s) for s in following.edges(number) if s.label != CRASH]
                near = [found[target] + 1 for target in steps if target in found]
                if near and min(near) < found.get(number, len(states)):
                    found[number] = min(near)
        return found

    def _places(self, state: int) -> Iterator[str]:
        steps = [symbol for symbol in self.following.edges(state) if symbol.label != CRASH]
        directions = Counter(symbol.direction for symbol in steps)
        if max(directions.values(), default=0) > 1:
            yield "choice"
        if len(directions) > 1:
            yield "may send or receive"
        if state in self._reached(state):
            yield "loop"
        elif state == 0:
            yield "beginning"

    def _reached(self, state: int) -> set[int]:
        """The states that one can get to by steps."""
        reached: set[int] = set()
        todo = [state]
        while todo:
            here = todo.pop()
            after = {self.following.after(here, symbol) for symbol in self.following.edges(here)} - reached
            reached |= after
            todo += after
        return reached


def cells(document: Document) -> Iterator[Cell]:
    """Each construct with each of the places at which it stands."""
    for construct, place in generate_globals.cells(document):
        yield construct, place if place in PLACES else BEHIND
