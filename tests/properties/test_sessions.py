"""Sessions against the reference: an attempt is accepted exactly if some run fits what everybody did."""

from __future__ import annotations

import os
from functools import cache
from random import Random

import pytest

from accord import Ok, Session
from accord.choreography import compiling
from accord.language.printer import print_document
from accord.language.tree import Document
from accord.semantics.exchanges import agrees
from accord.session.crew import Crew, Joint
from tests.census import Census
from tests.properties.choreographing import followed
from tests.properties.generate_globals import LABELS, random_global

SOAK = bool(os.environ.get("ACCORD_SOAK"))
PROTOCOLS = 20_000 if SOAK else 400
ATTEMPTS, LONG_LIFE = 14, 80

DEEDS = (
    "sends what is due", "sends what is not", "receives what is there", "receives what is not",
    "is seen", "is not seen",
)  # fmt: skip
AROUND = ("first", "in a choice", "in a loop", "in parts", "late", "1 under way", "2 under way", "3+ under way")


def table():
    return Census(
        "deed in a session",
        DEEDS,
        AROUND,
        {
            ("receives what is there", "first"): "nothing is there",
            **{
                (deed, f"{number} under way"): "an observer sees messages arrive at once"
                for deed in DEEDS[4:]
                for number in ("1", "2", "3+")
            },
        },
    )


@cache
def printed(protocol):
    return print_document(Document((protocol,)))


def attempts(rng, protocol):
    """How long a life is; parts in loops are more than the reference can follow for long."""
    return LONG_LIFE if rng.random() < 0.15 and "par" not in printed(protocol) else ATTEMPTS


def around(protocol, accepted, under_way):
    """Where a session is: in which kind of protocol, after how much, with how many messages under way."""
    text = printed(protocol)
    yield from ["first"] if not accepted else []
    yield from ["late"] if accepted > 12 else []
    yield from [
        f"in {name}" for name, word in (("a choice", "choice"), ("a loop", "rec"), ("parts", "par")) if word in text
    ]
    yield from [f"{under_way} under way" if under_way < 3 else "3+ under way"] if under_way else []


def contracts(seed, count, *, parts):
    rng = Random(seed)
    while count:
        protocol = random_global(rng, parts=parts)
        if len(protocol.roles) > 1 and followed(protocol) is not None:
            count -= 1
            yield rng, protocol, compiling.compile_contract(Document((protocol,)))


def played(rng, protocol, contract, seen):
    """Roles report by chance what they may do and what they may not; the first disagreement."""
    session = Session(contract, mode="refuse")
    histories: dict[str, tuple] = dict.fromkeys(session.roles, ())
    channels: dict[tuple[str, str], list[str]] = {}
    accepted = 0
    for _ in range(attempts(rng, protocol)):
        role, partner = rng.sample(session.roles, 2)
        label = rng.choice(LABELS)
        direction = rng.choice("!?")
        if direction == "?" and rng.random() < 0.8 and channels.get((partner, role)):
            label = channels[partner, role][0]
        end = session[role]
        if end.allowed() and rng.random() < 0.6:
            ends, label = rng.choice(end.allowed()).split(": ")
            sender, receiver = ends.split(" -> ")
            direction, partner = ("!", receiver) if sender == role else ("?", sender)
        verdict = end.send(label, to=partner) if direction == "!" else end.receive(label, sender=partner)
        deed = DEEDS[(0 if direction == "!" else 2) + (verdict != Ok())]
        seen.add((deed, place) for place in around(protocol, accepted, sum(map(len, channels.values()))))
        further = {**histories, role: (*histories[role], (direction, partner, label))}
        there = direction == "!" or (channels.get((partner, role)) or [None])[0] == label
        if (verdict == Ok()) != (there and agrees(protocol, {}, further)):
            return f"{verdict!r} for {role} {direction} {partner} {label} after {histories}", accepted
        if verdict == Ok():
            accepted += 1
            histories = further
            if direction == "!":
                channels.setdefault((role, partner), []).append(label)
            else:
                del channels[partner, role][0]
    return None, accepted


def observed(rng, protocol, contract, seen):
    """An observer tells of messages by chance; the same messages, played out, get the same answers."""
    watched, by_roles = Session(contract, mode="refuse"), Session(contract, mode="refuse")
    accepted = 0
    for _ in range(attempts(rng, protocol)):
        sender, receiver = rng.sample(watched.roles, 2)
        label = rng.choice(LABELS)
        allowed = watched.allowed()
        if allowed and rng.random() < 0.7:
            ends, label = rng.choice(allowed).split(": ")
            sender, receiver = ends.split(" -> ")
        verdict = watched.observe(sender, receiver, label)
        seen.add((DEEDS[4 + (verdict != Ok())], place) for place in around(protocol, accepted, 0))
        if verdict != by_roles[sender].send(label, to=receiver) and verdict == Ok():
            return f"{sender} -> {receiver}: {label} is accepted only from an observer", accepted
        accepted += verdict == Ok()
        moved = True
        while moved:  # everybody takes what is there
            moved = any(
                by_roles[whom].receive(labels[0], sender=who) == Ok()
                for (who, whom), labels in by_roles.under_way.items()
            )
        if (watched.states, watched.under_way) != (by_roles.states, by_roles.under_way):
            return f"the observer and the roles are apart after {watched.trace}", accepted
    return None, accepted


def test_a_session_agrees_with_the_reference(health):
    seen, accepted = table(), 0
    for way in (played, observed):
        for parts in (False, True):
            for rng, protocol, contract in contracts(21 + parts, PROTOCOLS // 2, parts=parts):
                difference, fine = way(rng, protocol, contract, seen)
                assert difference is None, f"{difference}\n{contract.document}"
                accepted += fine
    health(f"sessions: {accepted:,} deeds accepted, all as the reference says")
    health(seen.table())
    seen.check(10)


def last_in_first_out(monkeypatch):
    def newest(self, sender, receiver):
        return next((labels[-1] for ends, labels in self.channels if ends == (sender, receiver)), None)

    monkeypatch.setattr(Joint, "head", newest)


def everybody_stays_where_it_is(monkeypatch):
    real = Crew.do

    def forgetful(self, joint, role, deed, *, played):
        after = real(self, joint, role, deed, played=played)
        return self.at(joint.states, after.channels, played=played)

    monkeypatch.setattr(Crew, "do", forgetful)


@pytest.mark.parametrize("plant", [last_in_first_out, everybody_stays_where_it_is])
def test_a_planted_bug_is_caught(plant, monkeypatch):
    plant(monkeypatch)
    assert any(played(*made, table())[0] is not None for made in contracts(3, 300, parts=False))
