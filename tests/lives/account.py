"""What an account of a session is: what anybody would write down who was asked what may happen next.

Each scene (`scenes`) has a contract and an account of its own, in counters, sets and places in a queue, which knows
nothing of situations, covers or logs. What calls that have not returned can still spoil stands here, once for all of
them: a call that is out, or of which nobody knows what became of it, may have happened or not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from random import Random
from typing import Any, ClassVar

Arguments = dict[str, Any]
Gates = tuple[str, ...]


@dataclass
class Call:
    """A call that went out: at which place among all that has happened, and whether anybody knows where it is."""

    tool: str
    arguments: Arguments
    ticket: str
    place: int
    action: str = ""
    questions: tuple[int, ...] = ()
    started: bool = False
    lost: bool = False


@dataclass
class Account(ABC):
    """What has happened in a session, as far as its contract looks at it."""

    out: list[Call] = field(default_factory=list)
    place: int = 0
    now: float = 0.0

    contract: ClassVar[str]
    """The contract of the scene."""
    tools: ClassVar[dict[str, str]]
    """What becomes of each tool's call if it fails."""
    constructs: ClassVar[dict[str, tuple[str, ...]]]
    """Which constructs of the language decide about each tool."""
    options: ClassVar[dict[str, Any]] = {}
    events: ClassVar[tuple[str, ...]] = ()

    # -- what the world does -------------------------------------------------------------------------------------------

    @abstractmethod
    def wish(self, rng: Random) -> tuple[str, Arguments]:
        """A call that an agent might make."""

    def result(self, rng: Random, call: Call) -> dict[str, Any]:  # noqa: ARG002 - most tools have little to say
        """What a tool may return."""
        return {"done": rng.random() < 0.9}

    def saying(self, rng: Random) -> tuple[str, dict[str, Any]] | None:  # noqa: ARG002 - not every program does
        """Something that is no call: what the user says (`user`), or an event that the program reports."""
        return None

    def other(self, rng: Random, arguments: Arguments) -> Arguments:  # noqa: ARG002 - for tools that are asked about
        """What a person may put in place of arguments."""
        return arguments

    # -- what may happen -----------------------------------------------------------------------------------------------

    @abstractmethod
    def needs(self, tool: str, arguments: Arguments) -> Gates | None:
        """The steps of people that a call needs, none if it may go out at once; `None` if it must not go out at all."""

    def possible(self, *tools: str, **arguments: object) -> list[Call]:
        """The calls of these tools, with these arguments, that may happen or may have happened."""
        found = [call for call in self.out if call.tool in tools]
        return [call for call in found if all(call.arguments.get(name) == it for name, it in arguments.items())]

    def owes(self) -> bool:
        """Whether the session could not end here."""
        return False

    # -- what has happened ---------------------------------------------------------------------------------------------

    def goes_out(self, call: Call) -> None:
        """A call went out; who runs it may fail."""
        self.place += 1
        call.place = self.place
        self.out.append(call)

    def taken_back(self, call: Call) -> None:
        """A call has not happened after all."""
        self.out.remove(call)

    def has_happened(self, call: Call, result: dict[str, Any]) -> bool:
        """A call has happened for certain, and this came back; whether that was fit to be passed on.

        One that was made in time is in time, however long it took; but if something else was due before it came back,
        that is said first. If nobody knew, it ended where it was made, however late that is said.
        """
        self.out.remove(call)
        self.happened(call, result)
        if call.lost:
            return self.ended(call, result)
        self.place += 1
        return not self.late(self.now) and self.ended(call, result)

    @abstractmethod
    def happened(self, call: Call, result: dict[str, Any]) -> None:
        """A call counts for certain."""

    def ended(self, call: Call, result: dict[str, Any]) -> bool:  # noqa: ARG002 - where nobody looks at ends
        """What it returned counts; whether that was fit to be passed on."""
        return True

    def said(self, what: str, payload: dict[str, Any]) -> bool:  # noqa: ARG002 - for scenes in which something is said
        """Something was said or reported; whether that was legal."""
        self.place += 1
        return True

    def late(self, now: float) -> bool:
        """Time has passed; whether something was due and had not happened."""
        self.now = now
        return False
