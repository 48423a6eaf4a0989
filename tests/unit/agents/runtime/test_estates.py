"""What the partners of one that is dead are told: what they would be told if it had crashed."""

from __future__ import annotations

import asyncio

import msgspec
from tests.crews import LOG, OFFER, REQUEST_RESPONSE, Recorded

from accord.agents.following import follow
from accord.agents.runtime.activity import Activity
from accord.agents.runtime.estates import Estate, Left, Will, settle_estate, will_of
from accord.agents.runtime.hub import Hub
from accord.agents.runtime.in_process import InProcess
from accord.agents.runtime.letters import Begun, Delivery, Letter
from accord.stores import MemoryStore

TWO_FIRST = """
protocol TwoFirst {
    A -> C: Go
    A -> B: X
    C -> B: Y
    choice at B { B -> A: Fine; A -> C: Done }
    or crash B { A -> C: Failed }
}
"""


def letter(following, sender, label, **fields):
    roles = following.choreography.roles
    return Letter(
        conversation="c1", contract=following.part.contract, protocol=following.protocol, sender=sender,
        receiver=following.role, label=label, payload={}, cast={role: role.lower() for role in roles}, nth=1, **fields,
    )  # fmt: skip


def told(following, letters, begun=(), over=()):
    """Who is told what, what is left in the mailbox, and what stands in the ledger."""
    name = following.role.lower()
    recorded = Recorded()

    async def main():
        transport = InProcess()
        wills = [will_of(following)]
        for role in following.choreography.roles:
            await transport.open(role.lower(), wills if role == following.role else [], 100)
        hub = Hub(transport, MemoryStore(), Activity(transport, None), recorded.ledger, lambda: 0.0, lambda _: None)
        box = transport._boxes[name]
        deliveries = [Delivery(str(-number), each) for number, each in enumerate(letters, 1)]
        for delivery in deliveries:
            box.taken[delivery.number] = delivery
            box.lanes[delivery.letter.lane] += 1
        await settle_estate(hub, Estate(name, wills, Left(list(begun), list(over)), deliveries))
        heard = {}
        for other, each in transport._boxes.items():
            for delivery in each.waiting:
                heard[other] = (delivery.letter.gone, delivery.letter.sender, delivery.letter.noticed_by)
        return heard, [delivery.letter.label for delivery in box.taken.values()]

    heard, left = asyncio.run(main())
    return heard, left, [what for what, _, _ in recorded.notes]


def test_a_will_survives_the_way_to_another_process():
    for text, role in ((TWO_FIRST, "B"), (OFFER, "Bidder"), (LOG, "Logger")):
        will = will_of(follow(text, role))
        assert msgspec.json.decode(msgspec.json.encode(will), type=Will) == will


def test_a_message_that_was_not_taken_is_as_good_as_one_that_was():
    server, bidder = follow(REQUEST_RESPONSE, "Server"), follow(OFFER, "Bidder")
    assert told(server, [letter(server, "Client", "Request")]) == (
        {"client": ("lost", "Server", ())}, [], ["given up for dead"],
    )  # fmt: skip
    heard, left, _ = told(bidder, [letter(bidder, "Seller", "Offer")])
    assert heard == dict.fromkeys(("seller", "house"), ("crashed", "Bidder", ("Seller",)))
    assert left == []


def test_messages_are_taken_as_far_as_the_protocol_goes():
    """Whatever the order they came in; and one that comes before its turn waits for it."""
    following = follow(TWO_FIRST, "B")
    x, y = letter(following, "A", "X"), letter(following, "C", "Y")
    assert told(following, [y]) == ({}, ["Y"], [])
    assert told(following, [x])[0] == {"a": ("lost", "B", ()), "c": ("lost", "B", ())}
    for both in ([x, y], [y, x]):
        assert told(following, both)[0] == {"a": ("crashed", "B", ("A",)), "c": ("crashed", "B", ("A",))}


def test_what_was_begun_is_told_as_the_next_life_would():
    server = follow(REQUEST_RESPONSE, "Server")
    begun = Begun(conversation="c1", part=server.part, cast={"Client": "client", "Server": "server"})
    heard, left, notes = told(server, [letter(server, "Client", "Request")], begun=[begun])
    assert (heard, left) == ({"client": ("lost", "Server", ())}, [])
    assert notes == ["given up for dead", "not delivered"]
    assert told(server, [letter(server, "Client", "Request")], over=[("c1", server.part)])[0] == {}


def test_what_nobody_waits_for_stays_and_what_nobody_meant_goes():
    logger, server = follow(LOG, "Logger"), follow(REQUEST_RESPONSE, "Server")
    assert told(logger, [letter(logger, "Writer", "Note")]) == ({}, ["Note"], [])
    foreign = msgspec.structs.replace(letter(server, "Client", "Request"), contract="sha256:0", conversation="\x1b")
    assert told(server, [foreign, letter(server, "Client", "Request")])[:2] == ({"client": ("lost", "Server", ())}, [])
