"""A process in which finalizers step the very session that is being stepped, wherever garbage can be collected.

    python finalizer_worker.py [KIND …]

Fresh sessions are stepped, and the same step is taken once more by a finalizer at the first collection, at the second,
and so on, until a step is over before its time has come. The threshold is the lowest there is, and what was there
before is frozen, so that collections are many and cheap.

All of it is done twice: with byte code that has never run, which CPython has not specialised, and with byte code that
is warm. Standard output says, as JSON, how many steps were nested in another, and each pair of answers of which not
exactly one was a yes. A step that waits for itself ends the process and says where.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import sys
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

from accord import (
    Conversations,
    Guard,
    Ledger,
    LLMResponse,
    MemorySink,
    MemoryStore,
    Monitor,
    MonitoredClient,
    Ok,
    RecordedMonitor,
    RecordedSession,
    Session,
    SQLiteStore,
    StoredSession,
    ToolCall,
    ToolMiddleware,
    UsageError,
    ViolationError,
    compile,
)
from accord.langchain.fsm import ProtocolFSM, Transition
from accord.langchain.monitor import ProtocolMonitor
from accord.monitor.atomicity import locked

if TYPE_CHECKING:
    from collections.abc import Callable

    Step = Callable[[], bool]

PATIENCE = 30
WARM = 40

PLAIN = compile("!Once.end")
RECEIVED = compile("?Once.end")
CAREFUL = compile("!Once(x > 0).end")
GATED = compile("?Once by human.end")
RULE = compile('rule "one" { at most 1 Once }')
REGISTERS = compile("protocol P = ?Seen(id into s).!Once(id in s).end")
SLICED = compile('rule "one" { each k: at most 1 Once }')
TIMED = compile("!Once within 5s else ?Late")
ROLES = compile("protocol P { A -> B: Once }")
TOOL = compile("!once.end")
CALLED = compile("?once.!once.end")
ASKING = compile("!Ask.?Answer.end")
ANSWERED = compile("!once.?once.end")


class LockedMonitor(Monitor):
    """The monitor as it is where the interpreter promises nothing."""

    __slots__ = ()


locked(LockedMonitor, ("send", "receive", "tick", "close", "reset", "_attempt", "_situation"))


def fine(verdict: object) -> bool:
    return isinstance(verdict, Ok)


def monitor(kind: type[Monitor] = Monitor) -> Step:
    session = kind(PLAIN, mode="refuse")
    return lambda: fine(session.send("Once"))


def halting() -> Step:
    session = Monitor(PLAIN)
    return lambda: fine(session.send("Once"))


def receiving() -> Step:
    session = Monitor(RECEIVED, mode="refuse")
    return lambda: fine(session.receive("Once"))


def careful() -> Step:
    session = Monitor(CAREFUL, mode="refuse")
    return lambda: fine(session.send("Once", {"x": 1}))


def gated() -> Step:
    session = Monitor(GATED, mode="refuse")
    return lambda: fine(session.receive("Once", by="ana"))


def rule() -> Step:
    session = Monitor(RULE, mode="refuse")
    return lambda: fine(session.send("Once"))


def registers() -> Step:
    session = Monitor(REGISTERS, mode="refuse")
    session.receive("Seen", {"id": [1, 2]})
    return lambda: fine(session.send("Once", {"id": 1}))


def sliced() -> Step:
    session = Monitor(SLICED, mode="refuse")
    return lambda: fine(session.send("Once", {"k": 1}))


def timed() -> Step:
    session = Monitor(TIMED, mode="refuse", at=0)
    return lambda: fine(session.send("Once", at=1))


def observed() -> Step:
    session = Session(ROLES, mode="refuse")
    return lambda: fine(session.observe("A", "B", "Once"))


def endpoint() -> Step:
    end = Session(ROLES, mode="refuse")["A"]
    return lambda: fine(end.send("Once", to="B"))


def conversations() -> Step:
    sessions = Conversations(ROLES, mode="refuse")
    return lambda: fine(sessions.observe("c1", "A", "B", "Once"))


def recorded() -> Step:
    session = RecordedMonitor(Monitor(PLAIN, mode="refuse"), Ledger(MemorySink()))
    return lambda: fine(session.send("Once"))


def recorded_session() -> Step:
    session = RecordedSession(Session(ROLES, mode="refuse"), Ledger(MemorySink()))
    return lambda: fine(session.observe("A", "B", "Once"))


def stored() -> Step:
    session = StoredSession(MemoryStore(), PLAIN, "s")
    return lambda: fine(session.send("Once"))


FOLDER = tempfile.TemporaryDirectory()
FILE: list[SQLiteStore] = []


def stored_in_a_file() -> Step:
    FILE[:] = FILE or [SQLiteStore(Path(FOLDER.name) / "sessions.db", fsync="never")]
    session = StoredSession(FILE[0], PLAIN, f"s{len(list(FILE[0].rows()))}")
    return lambda: fine(session.send("Once"))


def langfuse() -> Step:
    from langfuse import Langfuse

    from accord.integrations.langfuse import LangfuseMonitor

    client = Langfuse(tracing_enabled=False, public_key="pk-finalizers", secret_key="sk")  # noqa: S106 - none
    session = LangfuseMonitor(PLAIN, client, mode="refuse")
    return lambda: fine(session.send("Once"))


def ran(guard: Guard) -> Step:
    return lambda: guard.run([ToolCall("once", {}, "")])[0].error is None


def guard() -> Step:
    return ran(Guard(TOOL, tools={"once": lambda: None}))


def stored_guard() -> Step:
    return ran(Guard(TOOL, tools={"once": lambda: None}, store=MemoryStore(), key="s"))


def guarded_function(contract: Any = TOOL) -> Step:
    guard = Guard(contract, on_violation="raise")
    once = guard.tool(lambda: True, name="once")

    def step() -> bool:
        try:
            return bool(once())
        except ViolationError:
            return False

    return step


def answered_function() -> Step:
    return guarded_function(ANSWERED)


def told_guard() -> Step:
    told = Guard(PLAIN)
    return lambda: fine(told.send("Once"))


def middleware() -> Step:
    tools = ToolMiddleware(Monitor(CALLED, mode="refuse"), {"once": lambda: True})
    return lambda: tools.execute(ToolCall("once", {}, "c")).error is None


def client() -> Step:
    session = Monitor(ASKING, mode="refuse")
    return called(MonitoredClient(lambda: "yes", LLMResponse, session, "Ask", "Answer"))


def called(model: MonitoredClient) -> Step:
    def step() -> bool:
        try:
            model.call()
        except ViolationError:
            return False
        return True

    return step


def repeating_client() -> Step:
    """The model fails once; the request is still open, and is made again once."""
    answers = iter([LookupError("no answer")])

    def ask() -> str:
        for error in answers:
            raise error
        return "yes"

    model = MonitoredClient(ask, LLMResponse, Monitor(ASKING, mode="refuse"), "Ask", "Answer")
    with suppress(LookupError):
        model.call()
    return called(model)


def state_machine() -> Step:
    fsm = ProtocolFSM(initial="before")
    fsm.add_transition(Transition(source="before", event_label="Once", phase="send", target="after"))
    session = ProtocolMonitor(fsm)
    return lambda: session.transition_event("Once", "send")


KINDS: dict[str, Callable[[], Step]] = {
    "monitor": monitor,
    "locked monitor": lambda: monitor(LockedMonitor),
    **{
        each.__name__.replace("_", " "): each
        for each in (
            halting,
            receiving,
            careful,
            gated,
            rule,
            registers,
            sliced,
            timed,
            observed,
            endpoint,
            conversations,
            recorded,
            recorded_session,
            stored,
            stored_in_a_file,
            langfuse,
            guard,
            stored_guard,
            guarded_function,
            answered_function,
            told_guard,
            middleware,
            client,
            repeating_client,
            state_machine,
        )
    },
}


def answer(step: Step) -> bool:
    try:
        return step()
    except UsageError:  # it was told that a step is being taken
        return False


class Garbage:
    """Something that only the collector can let go of."""

    def __init__(self) -> None:
        self.itself = self


class Dying(Garbage):
    """It takes a step when it is let go of."""

    def __init__(self, act: Callable[[], None]) -> None:
        super().__init__()
        self.act = act

    def __del__(self) -> None:
        self.act()


def nested_at(number: int, step: Step, shift: int) -> tuple[bool, bool] | None:
    """The answers to a step and to the same one nested in its collection of that number; `None` if it has fewer.

    A collection begins with every second allocation, so one more before the step shifts them all. With the shift it is
    the callback of a weak reference that takes the nested step, else it is `__del__`.
    """
    left, nested, kept = number, list[bool](), list[object]()

    def act(*_: object) -> None:
        nested.append(answer(step))

    def leave(phase: str, _: object) -> None:
        nonlocal left
        if phase == "start":
            left -= 1
            if left == -1:  # what is left here is found by the collection that begins
                kept.append(weakref.ref(Garbage(), act)) if shift else Dying(act)

    gc.collect()
    kept += [[] for _ in range(shift)]
    gc.callbacks.append(leave)
    gc.set_threshold(1, 1_000_000)
    try:
        outer = answer(step)
    finally:
        gc.set_threshold(0)
        gc.callbacks.remove(leave)
    return (outer, nested[0]) if nested else None


def functions() -> list[FunctionType]:
    """Those that step sessions."""
    stepping = (
        "accord.monitor.",
        "accord.session.",
        "accord.machine.collection",
        "accord.integrations.guard.fast_path",
    )
    return [
        each for each in gc.get_objects() if type(each) is FunctionType and str(each.__module__).startswith(stepping)
    ]


def tried(fresh: Callable[[], Step]) -> dict[str, Any]:
    """What became of all nested steps of a kind of session."""
    wrong, nested = [], 0
    for _ in range(2):  # what is imported, and which links are made, when somebody first steps
        fresh()()
    gc.unfreeze()
    known = functions()
    gc.collect()
    gc.freeze()
    for warm in (False, True):
        for shift in range(2):
            for number in range(10_000):
                for function in known if not warm else ():
                    function.__code__ = function.__code__.replace()  # it forgets what it was specialised for
                for _ in range(WARM if warm and not number and not shift else 0):
                    fresh()()
                answers = nested_at(number, fresh(), shift)
                if answers is None:
                    break
                nested += 1
                if sorted(answers) != [False, True]:
                    wrong.append([warm, shift, number, answers])
    return {"nested": nested, "wrong": wrong}


def main(names: list[str]) -> None:
    gc.set_threshold(0)
    found = {}
    for name in names or KINDS:
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        found[name] = tried(KINDS[name])
    faulthandler.cancel_dump_traceback_later()
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
