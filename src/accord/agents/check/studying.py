"""Everything an agent can do in its protocols, from its first conversation on.

A conversation rests when no strand works on it. What arrives then finds a handler, which starts in the state after that
message, and may open conversations and leave them to rest. Starting from the conversations that partners open and from
`on_start`, all states in which conversations can rest are found; each handler is walked in each state in which it can
start.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from accord.agents.check.paths import Step
from accord.agents.check.rules.not_sent import not_sent
from accord.agents.check.walking import Walker
from accord.agents.check.worlds import GONE, Conversation, Known, World
from accord.language.labels import print_label

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from accord.agents.check.declarations import AgentClass, Handler
    from accord.agents.check.methods import Method
    from accord.agents.check.names import Program
    from accord.agents.check.paths import Exit
    from accord.agents.check.scripts import Script
    from accord.agents.check.targets import Targets

    Rest = Callable[[Conversation, tuple[Step, ...]], None]

__all__ = ["Study", "study"]


@dataclass
class Study:
    """What was found out about an agent.

    `resting` are the states in which conversations rest, with the path that led there first; `untaken` the messages
    that can then arrive and that nothing takes; `called` the labels for which a handler was called.
    """

    agent: AgentClass
    scripts: Sequence[Script]
    walker: Walker
    resting: dict[Conversation, tuple[Step, ...]] = field(default_factory=dict)
    untaken: dict[tuple[int, str, str], tuple[Step, ...]] = field(default_factory=dict)
    called: set[str] = field(default_factory=set)


def study(
    agent: AgentClass, scripts: Sequence[Script], program: Program, targets: Targets, effectful: frozenset[str]
) -> Study:
    """Walk everything that an agent can come to."""
    walker = Walker(agent, scripts, program, targets, effectful)
    found = Study(agent, scripts, walker)
    handlers = {label: handler for handler in agent.handlers for label in handler.labels}
    todo: list[Conversation] = []

    def rest(conversation: Conversation, path: tuple[Step, ...]) -> None:
        if conversation not in found.resting:
            found.resting[conversation] = path
            todo.append(conversation)

    for part, script in enumerate(scripts):
        if script.receives[0]:
            rest(Conversation(part, 0), ())
    start = agent.methods.get("on_start")
    if start is not None:
        exits = walker.walk(start, World(), handles=False, prefix=())
        for exit_, path in exits.items():
            _let_go(found, start, exit_, path, rest)
    while todo:
        conversation = todo.pop(0)
        path = found.resting[conversation]
        script = scripts[conversation.part]
        for (label, sender), target in script.receives[conversation.state].items():
            handler = handlers.get(label)
            if handler is None:
                found.untaken.setdefault((conversation.part, label, sender), path)
                continue
            found.called.add(label)
            _handle(found, handler, label, sender, Conversation(conversation.part, target), rest)
    return found


def _handle(
    found: Study,
    handler: Handler,
    label: str,
    sender: str,
    conversation: Conversation,
    rest: Rest,
) -> None:
    """Walk a handler from one state."""
    method = handler.method
    world = World(conversation, sender).bind(handler.parameter, Known("message", label))
    arrives = f"`{print_label(label)}` from `{sender}` arrives"
    prefix = (Step(method.module, method.node, arrives),)
    for exit_, steps in found.walker.walk(method, world, handles=True, prefix=prefix).items():
        _let_go(found, method, exit_, steps, rest)


def _let_go(found: Study, method: Method, exit_: Exit, path: tuple[Step, ...], rest: Rest) -> None:
    """A strand has ended: its conversations rest, unless they wait for this agent."""
    if exit_.kind == "fail":
        return  # the agent has crashed, and its partners are told
    for conversation, _ in exit_.world.conversations():
        if conversation.state == GONE:
            continue
        script = found.scripts[conversation.part]
        if not script.owes(conversation.state):
            if exit_.kind == "return":
                rest(conversation, path)
            continue
        if exit_.kind == "raise" and script.crash_is_handled(conversation.state):
            continue
        raised = exit_.raised.shown if exit_.raised is not None else None
        misstep = not_sent(script, conversation.state, method.name, raised)
        found.walker.report(misstep, method.module, exit_.tree or method.node, path)
