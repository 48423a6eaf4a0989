"""Sessions of all roles against the reference: an attempt is accepted exactly if some run fits what everybody did."""

from __future__ import annotations

from random import Random

from accord import Ok, Session
from accord.language.global_tree import GlobalProtocol
from accord.language.tree import Document
from accord.machine.contract import Contract
from accord.semantics.exchanges import Protocols, agrees
from tests.properties.generate_globals import LABELS

ATTEMPTS = 10


def parts_of(document: Document) -> tuple[GlobalProtocol, Protocols]:
    """The protocol that a document is about, and all it declares, as the reference wants them."""
    return document.globals[0], {protocol.name: protocol for protocol in document.globals}


def played(rng: Random, document: Document, contract: Contract) -> tuple[str | None, int]:
    """Roles report by chance what they may do and what they may not; the first disagreement."""
    session = Session(contract, protocol="P", mode="refuse")
    histories: dict[str, tuple] = dict.fromkeys(session.roles, ())
    channels: dict[tuple[str, str], list[str]] = {}
    accepted = 0
    for _ in range(ATTEMPTS):
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
        further = {**histories, role: (*histories[role], (direction, partner, label))}
        there = direction == "!" or (channels.get((partner, role)) or [None])[0] == label
        if (verdict == Ok()) != (there and agrees(*parts_of(document), further)):
            return f"{verdict!r} for {role} {direction} {partner} {label} after {histories}", accepted
        if verdict == Ok():
            accepted += 1
            histories = further
            if direction == "!":
                channels.setdefault((role, partner), []).append(label)
            else:
                del channels[partner, role][0]
    return None, accepted


def observed(rng: Random, document: Document, contract: Contract) -> tuple[str | None, int]:
    """An observer tells of messages by chance; the same messages, played out, get the same answers."""
    seen, by_roles = Session(contract, protocol="P", mode="refuse"), Session(contract, protocol="P", mode="refuse")
    accepted = 0
    for _ in range(ATTEMPTS):
        sender, receiver = rng.sample(seen.roles, 2)
        label = rng.choice(LABELS)
        allowed = seen.allowed()
        if allowed and rng.random() < 0.7:
            ends, label = rng.choice(allowed).split(": ")
            sender, receiver = ends.split(" -> ")
        verdict = seen.observe(sender, receiver, label)
        if verdict != by_roles[sender].send(label, to=receiver) and verdict == Ok():
            return f"{sender} -> {receiver}: {label} is accepted only from an observer", accepted
        accepted += verdict == Ok()
        moved = True
        while moved:  # everybody takes what is there
            moved = any(
                by_roles[whom].receive(labels[0], sender=who) == Ok()
                for (who, whom), labels in by_roles.under_way.items()
            )
        if (seen.states, seen.under_way) != (by_roles.states, by_roles.under_way):
            return f"the observer and the roles are apart after {seen.trace}", accepted
    return None, accepted
