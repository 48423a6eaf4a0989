from __future__ import annotations

from accord.agents.check.worlds import GONE, MANY, Conversation, Known, World, fact

WAITING, DUE = Conversation(0, 1), Conversation(0, 2)


def test_conversations_are_counted_up_to_many():
    world = World()
    for _ in range(MANY + 3):
        world = world.with_other(WAITING)
    assert world.others == ((WAITING, MANY),)
    fewer = world.without_other(WAITING)
    assert [count for after in fewer for _, count in after.others] == [MANY - 1, MANY]


def test_the_last_one_is_gone():
    assert World().with_other(WAITING).without_other(WAITING) == [World()]


def test_worlds_with_the_same_conversations_are_equal():
    assert World().with_other(WAITING).with_other(DUE) == World().with_other(DUE).with_other(WAITING)


def test_a_conversation_that_a_crash_has_ended_is_none():
    world = World(last=Conversation(0, GONE)).with_other(DUE)
    assert world.conversations() == [(DUE, False)]
    assert World(last=DUE).conversations() == [(DUE, True)]


def test_names():
    world = World().bind("b", Known("truth", value=True)).bind("a", Known("text", "x"))
    assert world.knows("a") == Known("text", "x")
    assert world.knows("c") is None
    assert world.bind("a", None).bind("b", None) == World()
    assert world.forget() == World()
    assert (fact("x"), fact(0)) == (Known("text", "x"), Known("truth", value=False))
    assert fact(None) == Known("nothing", value=False)
