"""Nothing that people or models write reaches a prompt, a log or a terminal raw, whatever field they write it in."""

from __future__ import annotations

import logging

import pytest
from click.testing import CliRunner

from accord import (
    Guard,
    MemoryStore,
    Monitor,
    ProtocolViolationError,
    SQLiteStore,
    ToolCall,
    ToolMiddleware,
    UsageError,
)
from accord.cli.app import app
from accord.integrations.logs import LogObserver
from tests.hostile_text import HOSTILE, check_shown, check_told

CONTRACT = """
protocol P = rec L.{?Approval by human.!wire.?wire.L, !pay(amount <= 10).?pay(ok != false).L, !look.L}
rule "once" { at most 1 pay }
tools { pay fails unknown  wire fails undone  look fails done }
"""
hostile = pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)


class Heard:
    """Everything that a guard has said, in whatever way."""

    def __init__(self, **kept):
        self.texts = []
        self.kept = kept

    def guard(self, tools=None, contract=CONTRACT, **more):
        tools = {name: lambda **_: None for name in ("pay", "wire", "look")} | (tools or {})
        return Guard(contract, tools=tools, observers=[LogObserver()], **self.kept, **more)

    def hear(self, guard, act):
        """What comes of an act, and what the guard says afterwards."""
        try:
            self.note(act())
        except (UsageError, ProtocolViolationError, TypeError) as error:
            self.texts.append(str(error))
        self.texts += [guard.explain(), guard.stopped or "", str(guard.coverage()), repr(guard)]

    def note(self, value):
        if isinstance(value, list | tuple):
            for each in value:
                self.note(each)
        for name in ("error", "message", "reason_given"):
            said = getattr(value, name, None)
            if isinstance(said, str):
                self.texts.append(said)
        explain = getattr(value, "explain", None)
        if explain is not None:
            self.texts.append(explain())

    def check(self, log):
        assert any(self.texts)
        for text in self.texts:
            check_told(text, "a guard")
        for record in log.records:
            check_told(record.getMessage(), "a log", own=record.levelno == logging.ERROR)


def refused(guard, text):
    return [
        lambda: guard.run([ToolCall(text, {}, "c1")]),
        lambda: guard.run([ToolCall(text, {}, "c1")]),
        lambda: guard.run([ToolCall("pay", {text: 1}, "c2")]),
        lambda: guard.run([ToolCall("pay", {"amount": text}, "c3")]),
        lambda: guard.run([ToolCall("pay", {"amount": {text: [text]}}, "c4")]),
        lambda: guard.run([ToolCall("pay", {"amount": 99}, text)]),
        lambda: guard.run([ToolCall("look", {}, text), ToolCall("look", {}, text)]),
        lambda: guard.run([ToolCall("wire", {"to": text}, text)]),
        lambda: guard.run([ToolCall("pay", {"amount": {1, 2}, text: text}, text)]),
        lambda: guard.send(text, {text: text}),
        lambda: guard.receive(text, {}),
        lambda: guard.receive("Approval", {text: text}, by=text),
        lambda: guard.user_says(text, by=text),
        lambda: guard.agent_says(text),
        lambda: guard.settle(text),
        lambda: guard.fail(text, text),
        lambda: guard.keep(text, text),
        lambda: guard.review(text),
        lambda: guard.decide(text, text, by="ana"),
        lambda: guard.reserve([ToolCall(text, {text: text}, text)]),
        guard.close,
    ]


@hostile
@pytest.mark.parametrize("stored", [False, True])
def test_what_models_ask_for(text, stored, caplog):
    caplog.set_level(logging.INFO)
    heard = Heard(**({"store": MemoryStore(), "key": "s1"} if stored else {}))
    guard = heard.guard(patience=3)
    for act in refused(guard, text):
        heard.hear(guard, act)
        if guard.stopped is not None:
            guard.resume(by="ana", reason="test")
    heard.check(caplog)


@hostile
@pytest.mark.parametrize("contract", ["!pay.!ship.end", 'rule "r" { before look require pay }'])
def test_names_of_tools_and_of_their_parameters(text, contract, caplog):
    heard = Heard()

    def named(**arguments):
        return arguments

    def strict(amount):
        return amount

    guard = heard.guard({text: named}, contract, events=["ship", "pay", "look"])
    heard.hear(guard, lambda: guard.run([ToolCall(text, {}, "c1")]))
    heard.hear(guard, lambda: guard.run([ToolCall("nothing", {}, "c1")]))
    guard.register("pay", strict)
    heard.hear(guard, lambda: guard.run([ToolCall("pay", {text: 1}, "c1")]))
    heard.hear(guard, lambda: guard.tool(name=text)(strict)(1))
    heard.hear(guard, lambda: guard.tool(name="pay")(strict)(**{text: 1}))
    heard.hear(guard, lambda: guard.register(text, lambda x, /: x))
    heard.check(caplog)


@hostile
@pytest.mark.parametrize("answer", ["allow", "deny"])
def test_what_people_decide(text, answer, caplog):
    caplog.set_level(logging.INFO)
    heard = Heard()
    now = [1000]
    guard = heard.guard(clock=lambda: now[0], review_lasts=60)
    by, reason = text[:190], text[:1900]
    ask = [ToolCall("wire", {"to": text}, "c1")]
    heard.hear(guard, lambda: guard.run(ask))
    (review,) = guard.reviews()
    heard.hear(guard, lambda: guard.decide(review.id, text, by=by))
    heard.hear(guard, lambda: guard.decide(review.id, "modify", by=by, reason=reason, payload={text: text, "n": {1}}))
    heard.hear(guard, lambda: guard.decide(review.id, answer, by=by, reason=reason))
    heard.hear(guard, lambda: guard.decide(review.id, answer, by=by, reason=reason))
    if answer == "allow":
        now[0] += 61
    heard.hear(guard, lambda: guard.run(ask))
    heard.check(caplog)


@hostile
def test_a_person_who_stops_and_resumes(text, caplog):
    heard = Heard()
    guard = heard.guard(patience=1, escalate="review")
    heard.hear(guard, lambda: guard.run([ToolCall(text, {text: text}, "c1")]))
    for review in guard.reviews():
        heard.hear(guard, lambda: guard.decide(review.id, "deny", by=text[:190], reason=text[:1900]))  # noqa: B023
    heard.hear(guard, lambda: guard.run([ToolCall("look", {}, "c2")]))
    heard.hear(guard, lambda: guard.resume(by=text[:190], reason=text[:1900]))
    heard.hear(guard, lambda: guard.resume(by=text[:190], reason=text[:1900]))
    heard.check(caplog)


@hostile
def test_what_tools_do(text, caplog):
    """The error of a tool is its own word; what is said of it later is quoted."""
    caplog.set_level(logging.INFO)
    heard = Heard()

    def fails(**_):
        raise ValueError(text)

    guard = heard.guard({"pay": fails, "look": lambda: {"ok": text, "error": text}, "wire": lambda: {text, 1}})
    (result,) = guard.run([ToolCall("pay", {"amount": 1}, "c1")])
    check_told(result.error, "the error of a tool", own=True)
    for record in caplog.records:
        check_told(record.getMessage(), "a log", own=True)
    caplog.clear()
    heard.hear(guard, lambda: guard.run([ToolCall("pay", {"amount": 1}, "c2")]))
    heard.hear(guard, lambda: guard.run([ToolCall("look", {}, "c3")]))
    guard.settle("c1", {"ok": False, text: text})
    heard.hear(guard, lambda: guard.run([ToolCall("look", {}, "c4")]))
    heard.check(caplog)


@hostile
def test_what_the_middleware_says(text):
    def fails(**_):
        raise ValueError(text)

    tools = ToolMiddleware(
        Monitor("rec L.{?pay(amount <= 10).!pay(ok == true).L, ?x.!x.L}", mode="refuse"), {"pay": fails}
    )
    tools.register(text, lambda **_: text)
    calls = [("pay", {"amount": text}), ("pay", {text: 1}), (text, {}), ("x", {}), ("pay", text)]
    for name, arguments in calls:
        check_told(tools.execute(ToolCall(name, arguments, text)).error, "the middleware", own=name == "pay")


def run_cli(*arguments):
    return CliRunner().invoke(app, [str(each) for each in arguments], prog_name="accord", color=False)


@hostile
def test_what_a_terminal_shows(text, tmp_path):
    path = tmp_path / "sessions.db"
    store = SQLiteStore(path, fsync="never")
    key = text[:150].replace("\x00", "")
    heard = Heard(store=store)
    try:
        heard.kept["key"] = key
        guard = heard.guard(clock=lambda: 1000, review_lasts=60)
    except UsageError as error:  # not every text is a key
        check_told(str(error), "a key that is none")
        heard.kept["key"] = key = "s1"
        guard = heard.guard(clock=lambda: 1000, review_lasts=60)
    guard.run([ToolCall("wire", {"to": text, text: 1}, "c1"), ToolCall(text[:400], {}, "c2")])
    guard.run([ToolCall("look", {}, text[:400])])
    for review in guard.reviews():
        guard.decide(review.id, "allow", by=text[:190], reason=text[:1900])
    guard.run([ToolCall("wire", {"to": text[::-1]}, "c3")])
    guard.reserve([ToolCall("look", {}, "c9")])
    number = guard.reviews()[0].id
    store.close()
    commands = [
        ("sessions", "list", path), ("sessions", "show", path, key), ("sessions", "verify", path, key),
        ("review", "list", path, "--all"), ("review", "show", path, key, number),
        ("review", "show", path, key, text[:50]), ("sessions", "show", path, text[:50] + "?"),
        ("ledger", "show", path), ("explain", text[:50]), ("review", "decide", path, key, number),
    ]  # fmt: skip
    for command in commands:
        check_shown(run_cli(*command).output, command[:2])
