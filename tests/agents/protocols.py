"""The same protocol as a contract and as state machines, for tests that all middlewares have to pass."""

from __future__ import annotations

from accord.langchain import (
    AccordMiddleware,
    CheckpointedProtocolMiddleware,
    ProtocolEnforcerMiddleware,
    ProtocolFSM,
    ProtocolMonitor,
    Transition,
    ref,
)

__all__ = ["BOOKING", "GATED", "KINDS", "booking_of", "gated_of", "machine"]

BOOKING = "!search.?search.!book.?book.end"
GATED = "!search.?search.?Approval by human.!book.?book.end"


def machine(recorder, *, gated=False):
    search, book, *_ = recorder.tools
    after = "waiting" if gated else "found"
    fsm = ProtocolFSM(initial="idle")
    fsm.add_transition(Transition(source="idle", tool=ref(search), phase="send", target="searching"))
    fsm.add_transition(Transition(source="searching", tool=ref(search), phase="recv", target=after))
    if gated:
        approval = {"event_label": "Approval", "phase": "recv", "interrupt": True}
        fsm.add_transition(Transition(source="waiting", target="found", **approval))
    fsm.add_transition(Transition(source="found", tool=ref(book), phase="send", target="booking"))
    fsm.add_transition(Transition(source="booking", tool=ref(book), phase="recv", target="done"))
    return fsm.mark_terminal("done")


def _tools(recorder):
    return [ref(each) for each in recorder.tools]


def _contract(recorder, text, **more):
    return AccordMiddleware(text, **more)


def _checkpointed(recorder, text, **more):
    fsm = machine(recorder, gated=text == GATED)
    return CheckpointedProtocolMiddleware(fsm=fsm, tool_refs=_tools(recorder), **more).middleware


def _enforcer(recorder, text, on_violation="block", **more):
    monitor = ProtocolMonitor(machine(recorder, gated=text == GATED), on_violation)
    return ProtocolEnforcerMiddleware(monitor=monitor, tool_refs=_tools(recorder), **more).middleware


KINDS = {"contract": _contract, "checkpointed": _checkpointed, "enforcer": _enforcer}


def booking_of(kind, recorder, **more):
    return KINDS[kind](recorder, BOOKING, **more)


def gated_of(kind, recorder, **more):
    return KINDS[kind](recorder, GATED, **more)
