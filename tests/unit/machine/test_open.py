"""Machines of open protocols: what they are called, how they travel, and what is remembered of what passes them."""

from __future__ import annotations

import pytest

import accord
from accord import Limits, Monitor, Ok, Violation
from accord.machine.codec import decode_machine, encode_machine
from accord.machine.draw.dot import draw_dot
from accord.machine.draw.mermaid import draw_mermaid
from accord.machine.draw.text import draw_text

OPEN = "protocol P open = !a.?b.end"
CLOSED = "protocol P = !a.?b.end"


def test_being_open_is_part_of_what_a_contract_is():
    assert accord.compile(OPEN).digest != accord.compile(CLOSED).digest
    assert accord.compile(OPEN) != accord.compile(CLOSED)


def test_a_closed_contract_is_what_it_was():
    assert accord.compile(CLOSED).machine().is_open is False
    assert "open" not in encode_machine(accord.compile(CLOSED).machine())


@pytest.mark.parametrize("text", [OPEN, "protocol P open = each id: !a.?b.end", CLOSED])
def test_it_travels(text):
    machine = accord.compile(text).machine()
    arrived = decode_machine(encode_machine(machine))
    assert (arrived, arrived.is_open) == (machine, machine.is_open)


def test_it_is_drawn():
    whole, sliced = (accord.compile(text).machine() for text in (OPEN, "protocol P open = each id: !a.end"))
    assert draw_text(whole).startswith("protocol P, open, 3 states")
    assert draw_text(sliced).startswith("protocol P, open, each id, 2 states")
    assert 'label="P: open"' in draw_dot(whole) and 'label="P: open, each id"' in draw_dot(sliced)
    assert 'title: "P: open"' in draw_mermaid(whole) and 'title: "P: open, each id"' in draw_mermaid(sliced)


def test_labels_without_end_do_not_fill_the_memory():
    contract = accord.compile(OPEN, limits=Limits(remembered_standings=4))
    monitor = Monitor(contract)
    for number in range(200):
        assert monitor.send(f"tool_{number}") == Ok()
    assert len(monitor._at.sends) < 20
    assert monitor.send("a") == Ok()
    assert isinstance(monitor.send("a"), Violation)


def test_a_step_that_passes_is_remembered():
    contract = accord.compile("protocol P open = ?q(t as t).!a(x <= t).end")
    first, second = Monitor(contract), Monitor(contract)
    for monitor in (first, second):
        assert [monitor.receive("q", {"t": 3}), monitor.send("log"), monitor.send("log")] == [Ok()] * 3
    assert "log" in second._at.careful_sends
    assert second.send("a", {"x": 3}) == Ok()


def test_a_direction_is_told_where_only_one_of_them_passes():
    rule = 'rule "r" { before log require a }'
    named = Monitor(f"protocol P open = !b.!a.end\n{rule}", mode="refuse").send("log").explain()
    assert "First `a`, then `log`." in named
    either = Monitor(f"protocol P open = !b.end\n{rule}", mode="refuse").send("log").explain()
    assert "First `a`, then `log`." in either


def test_what_is_refused_is_told():
    said = Monitor('protocol P open = !a.end\nrule "r" { before log require a }', mode="refuse")
    assert "First call `a`, then `log`." in said.send("log").explain()
    over = Monitor("protocol P open = !a.end", mode="refuse")
    over.send("a")
    assert over.send("a").explain() == ("`a` is not allowed: the protocol is over, and nothing more of it may happen.")
    assert over.send("b") == Ok()
