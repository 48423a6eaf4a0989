"""The labels of a contract, held against the tools that there are and the events that a program reports.

A label that nobody can ever give is a clause that never does anything: `before refnud require …` guards no refund. One
that is nearly the name of a tool or an event is taken for a slip of the pen, any other is worth a warning. The other
way round there may be tools that no clause looks at.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accord.diagnostics import did_you_mean
from accord.errors import LabelWarning, UsageError
from accord.language.events import Named
from accord.language.labels import normalise
from accord.monitor.events import make_event
from accord.monitor.step import begin, step
from accord.monitor.verdicts import UNRECOGNIZED, Ok
from accord.monitor.wording import quote_text
from accord.projection.labels import labeller_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from accord.integrations.guard.policy import Policy
    from accord.language.events import EventLine
    from accord.projection.happenings import Kind

__all__ = ["Coverage", "Survey", "Unsourced"]

_MOST_SHOWN = 10
_MOST_KEPT = 256
"""Agents whose tools change with every request would fill the memory otherwise."""
_SHORTEST = 5
"""Words that are shorter are alike without being meant for each other, such as `book` and `look`."""


@dataclass(frozen=True, slots=True)
class Unsourced:
    """A label that neither a tool nor an event gives. `meant` is a name like it; `close` says that it is a slip."""

    label: str
    meant: str | None = None
    close: bool = False

    def __str__(self) -> str:
        return quote_text(self.label) + (f" (did you mean {quote_text(self.meant)}?)" if self.meant else "")


@dataclass(frozen=True, slots=True)
class Coverage:
    """What a contract does not reach.

    `passing` are tools that no clause looks at and whose calls run, because the protocol lets others pass or there are
    rules alone; `refused` those whose calls never run, because a protocol refuses what it does not name. `labels` are
    those that nobody gives.
    """

    passing: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    labels: tuple[Unsourced, ...] = ()

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that no clause looks at."""
        return tuple(sorted((*self.passing, *self.refused)))

    def __str__(self) -> str:
        said = []
        if self.passing:
            said.append(f"No clause looks at {_listed(self.passing)}: these calls run.")
        if self.refused:
            said.append(f"No clause names {_listed(self.refused)}: these calls are refused.")
        if self.labels:
            said.append(f"Neither a tool nor a declared event gives {', '.join(map(str, self.labels))}.")
        return " ".join(said) or "Every tool is looked at, and every label can come."


class Survey:
    """Holds a contract against tools, once for each set of them; `clean` are sets that suit it, for all to see."""

    __slots__ = ("_checked", "_clean", "_policy", "_strict")

    def __init__(self, policy: Policy, clean: set[frozenset[str]], *, strict: bool) -> None:
        self._policy = policy
        self._clean = clean
        self._strict = strict
        self._checked: frozenset[str] | None = None

    def check(self, tools: Iterable[str]) -> None:
        """`UsageError` if a label is nearly that of a tool or an event, `LabelWarning` for any other that nobody gives.

        If the owner is strict, all of them are errors. The same tools are looked at once.
        """
        names = frozenset(tools)
        if names in self._clean or names == self._checked or not names:
            return
        labels = self.coverage(names).labels
        wrong = [each for each in labels if each.close or self._strict]
        if wrong:
            raise UsageError(f"the contract speaks of {_told(wrong)}, {_NOBODY}")
        self._checked = names
        if not labels and len(self._clean) < _MOST_KEPT:
            self._clean.add(names)
        if labels:
            warnings.warn(f"the contract speaks of {_told(labels)}, {_NOBODY}", LabelWarning, stacklevel=3)

    def coverage(self, tools: Iterable[str]) -> Coverage:
        """What the contract does not reach, with these tools."""
        names = sorted(set(tools))
        kept, key = self._policy.contract.kept, self._key(names)
        known = kept.get(key)
        if not isinstance(known, Coverage):
            known = self._look(names)
            if len(kept) < _MOST_KEPT:
                kept[key] = known
        return known

    def _key(self, names: Sequence[str]) -> tuple[str, str]:
        given = [f"{name}={self._policy.label(name)}" for name in names]
        return "coverage", "\n".join([str(self._policy.protocol), *given, "", *sorted(self._policy.reports)])

    def _look(self, tools: Sequence[str]) -> Coverage:
        policy = self._policy
        lines = labeller_of(policy.contract).lines
        by_default = {policy.label(name) for name in tools} | self._policy.reports
        pool = sorted({*tools, *by_default})
        used, gated = _labels(policy)
        given = set() if lines is None else _given(lines, set(tools), self._policy.reports)
        if lines is None or any(line.as_named for line in lines):
            given |= by_default
        missing = used - given - gated - {UNRECOGNIZED}
        if lines is not None:
            missing |= _named(lines, gated) - {*map(normalise, tools), *self._policy.reports}
        unseen = [name for name in tools if not _is_seen(policy, name, used)]
        passing = [name for name in unseen if _passes(policy, name)]
        return Coverage(
            tuple(passing),
            tuple(name for name in unseen if name not in passing),
            tuple(_unsourced(label, pool) for label in sorted(missing)),
        )


_NOBODY = (
    "which neither a tool nor an event gives; correct the name, or say which events the program reports: "
    'events=["Order"]'
)


def _told(labels: Sequence[Unsourced]) -> str:
    more = f" and {len(labels) - _MOST_SHOWN} more" if len(labels) > _MOST_SHOWN else ""
    return ", ".join(map(str, labels[:_MOST_SHOWN])) + more


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(quote_text, names))


def _labels(policy: Policy) -> tuple[set[str], set[str]]:
    """The labels that protocol and rules speak of, and those of steps that people make.

    A rule may be about another protocol of the contract, whose agent has tools of its own.
    """
    contract = policy.contract
    symbols = [] if not contract.machines else contract.machine(policy.protocol).symbols
    patterns = [pattern for rule in contract.rules.machines for pattern in rule.patterns]
    others = {
        symbol.label
        for name, machine in contract.machines.items()
        if name != policy.protocol
        for symbol in machine.symbols
    }
    used = {symbol.label for symbol in symbols}
    used |= {pattern.label for pattern in patterns} - (others - used)
    gated = {symbol.label for symbol in symbols if symbol.gated} | {each.label for each in patterns if each.gated}
    return used, gated


def _given(lines: Sequence[EventLine], tools: set[str], events: frozenset[str]) -> set[str]:
    """The labels that the lines of an events block give to something that can happen."""
    there = {normalise(name) for name in tools} | events
    return {
        line.label
        for line in lines
        if line.label is not None and (not _is_ours(line) or not there.isdisjoint(map(normalise, line.origin.names)))  # type: ignore[union-attr] # it is named
    }


def _named(lines: Sequence[EventLine], gated: set[str]) -> set[str]:
    """The names of tools and events that the lines of an events block speak of; steps of people come from people."""
    ours = [line for line in lines if _is_ours(line) and line.label not in gated]
    return {normalise(name) for line in ours for name in line.origin.names}  # type: ignore[union-attr] # it is named


def _is_ours(line: EventLine) -> bool:
    """Whether a line is about the agent's tools or the program's events."""
    return isinstance(line.origin, Named) and line.origin.kind != "user call"


def _is_seen(policy: Policy, name: str, used: set[str]) -> bool:
    """Whether a clause looks at calls of a tool, or at what becomes of them."""
    labeller = labeller_of(policy.contract)
    kinds: tuple[Kind, ...] = ("call", "result", "error")
    candidates = [label for kind in kinds for _, label in labeller.candidates(kind, policy.label(name))]
    return any(not label.by_name or label.label in used for label in candidates)


def _passes(policy: Policy, name: str) -> bool:
    """Whether a call that no clause names runs: what is so at the beginning is so everywhere."""
    at = 0 if policy.is_timed else None
    event = make_event("!", policy.label(name), None, None, None, at)
    return type(step(begin(policy.contract, policy.protocol, at), event, "refuse")[1]) is Ok


def _unsourced(label: str, pool: Sequence[str]) -> Unsourced:
    near = next((name for name in pool if _is_slip(label, name)), None)
    if near is not None:
        return Unsourced(label, near, close=True)
    return Unsourced(label, did_you_mean(label, pool))


# -- slips of the pen --------------------------------------------------------------------------------------------------


def _is_slip(label: str, name: str) -> bool:
    """Whether two names differ by case or separators, or by one letter inside a word.

    Endings are meant: `approve` and `approved`, `order` and `orders`, `step1` and `step2` are different words.
    """
    one, other = _words(label), _words(name)
    if "".join(one) == "".join(other):
        return True
    if len(one) != len(other):
        return False
    unlike = [pair for pair in zip(one, other, strict=True) if pair[0] != pair[1]]
    return len(unlike) == 1 and _is_one_off(*unlike[0])


def _words(name: str) -> list[str]:
    return [word.casefold() for word in re.split(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])", name) if word]


def _is_one_off(one: str, other: str) -> bool:
    """Whether a letter was changed, left out or put in, or two were swapped; what is added at the end is meant."""
    if max(len(one), len(other)) < _SHORTEST or one.startswith(other) or other.startswith(one):
        return False
    if any(letter.isdigit() for letter in {*one} ^ {*other}):
        return False
    first = next(place for place, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1])
    left, right = one[first:], other[first:]
    if len(left) == len(right):
        swapped = left[1::-1] + left[2:] if len(left) > 1 else left
        return left[1:] == right[1:] or swapped == right
    shorter, longer = sorted((left, right), key=len)
    return shorter == longer[1:]
