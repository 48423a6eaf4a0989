"""Sessions of all roles against the reference: an attempt is accepted exactly if some run fits what everybody did."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from accord import Ok, Session
from accord.language.global_tree import GlobalProtocol
from accord.language.printer import print_document
from accord.language.tree import Document
from accord.machine.contract import Contract
from accord.semantics.exchanges import Protocols, agrees
from tests.census import Census
from tests.properties.generate_globals import LABELS

ATTEMPTS, LONG_LIFE = 10, 60

DEEDS = (
    "sends what is due", "sends what is not", "receives what is there", "receives what is not",
    "is seen", "is not seen",
)  # fmt: skip
AROUND = ("first", "in a choice", "in a loop", "in parts", "late", "1 under way", "2 under way", "3+ under way")


def deeds(*, parts: bool) -> Census:
    """An empty table of what was tried in sessions, and when."""
    at_once = {(deed, f"{n} under way"): "an observer sees messages arrive at once" for deed in DEEDS[4:] for n in "12"}
    at_once |= {(deed, "3+ under way"): "an observer sees messages arrive at once" for deed in DEEDS[4:]}
    no_parts = {} if parts else {("*", "in parts"): "made without `par`"}
    nothing = {("receives what is there", "first"): "nothing is there"}
    return Census("deeds in sessions", DEEDS, AROUND, nothing | at_once | no_parts)


def attempts(rng: Random, text: str) -> int:
    """How long a life is; parts in loops are more than the reference can follow for long."""
    return LONG_LIFE if rng.random() < 0.06 and "par {" not in text else ATTEMPTS


def around(text: str, accepted: int, under_way: int) -> Iterator[str]:
    """Where a session is: in which kind of protocol, after how much, with how many messages under way."""
    if not accepted:
        yield "first"
    if accepted > 12:
        yield "late"
    for name, word in (("a choice", "choice"), ("a loop", "rec "), ("parts", "par {")):
        if word in text:
            yield f"in {name}"
    if under_way:
        yield f"{under_way} under way" if under_way < 3 else "3+ under way"


def parts_of(document: Document) -> tuple[GlobalProtocol, Protocols]:
    """The protocol that a document is about, and all it declares, as the reference wants them."""
    return document.globals[0], {protocol.name: protocol for protocol in document.globals}


def played(rng: Random, document: Document, contract: Contract, seen: Census) -> tuple[str | None, int, int]:
    """Roles report by chance what they may do and what they may not; the first disagreement."""
    session = Session(contract, protocol="P", mode="refuse")
    histories: dict[str, tuple] = dict.fromkeys(session.roles, ())
    channels: dict[tuple[str, str], list[str]] = {}
    accepted = tried = 0
    text = print_document(document)
    for tried in range(1, attempts(rng, text) + 1):
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
        seen.add((deed, place) for place in around(text, accepted, sum(map(len, channels.values()))))
        further = {**histories, role: (*histories[role], (direction, partner, label))}
        there = direction == "!" or (channels.get((partner, role)) or [None])[0] == label
        if (verdict == Ok()) != (there and agrees(*parts_of(document), further)):
            return f"{verdict!r} for {role} {direction} {partner} {label} after {histories}", accepted, tried
        if verdict == Ok():
            accepted += 1
            histories = further
            if direction == "!":
                channels.setdefault((role, partner), []).append(label)
            else:
                del channels[partner, role][0]
    return None, accepted, tried


def observed(rng: Random, document: Document, contract: Contract, seen: Census) -> tuple[str | None, int, int]:
    """An observer tells of messages by chance; the same messages, played out, get the same answers."""
    watched, by_roles = Session(contract, protocol="P", mode="refuse"), Session(contract, protocol="P", mode="refuse")
    accepted = tried = 0
    text = print_document(document)
    for tried in range(1, attempts(rng, text) + 1):
        sender, receiver = rng.sample(watched.roles, 2)
        label = rng.choice(LABELS)
        allowed = watched.allowed()
        if allowed and rng.random() < 0.7:
            ends, label = rng.choice(allowed).split(": ")
            sender, receiver = ends.split(" -> ")
        verdict = watched.observe(sender, receiver, label)
        seen.add((DEEDS[4 + (verdict != Ok())], place) for place in around(text, accepted, 0))
        if verdict != by_roles[sender].send(label, to=receiver) and verdict == Ok():
            return f"{sender} -> {receiver}: {label} is accepted only from an observer", accepted, tried
        accepted += verdict == Ok()
        moved = True
        while moved:  # everybody takes what is there
            moved = any(
                by_roles[whom].receive(labels[0], sender=who) == Ok()
                for (who, whom), labels in by_roles.under_way.items()
            )
        if (watched.states, watched.under_way) != (by_roles.states, by_roles.under_way):
            return f"the observer and the roles are apart after {watched.trace}", accepted, tried
    return None, accepted, tried
