"""Python code around a protocol between roles: all of it watched, one role's own part, or agents that play it."""

from __future__ import annotations

import keyword
from typing import TYPE_CHECKING

from accord.choreography import compile_choreography, project
from accord.errors import UsageError
from accord.language import print_document
from accord.language.global_tree import CRASH, Enumeration, Record
from accord.studio.code_texts import contract_literal, module

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from accord.choreography import Choreography
    from accord.language.global_tree import FieldType
    from accord.machine.contract import Contract

__all__ = ["ROLE_KINDS", "role_snippet"]

ROLE_KINDS = {
    "session": "Session: all roles at once, and who is to blame",
    "role": "Monitor of one role: its own part, in any program",
    "agents": "Agents: a class for each role, run by a supervisor",
}
"""Every kind of snippet for protocols between roles, and what it is for."""

_TYPES = {"String": "str", "Int": "int", "Float": "float", "Bool": "bool", "Any": "object"}


def role_snippet(contract: Contract, kind: str, protocol: str | None, role: str | None) -> str:
    """The code of that kind; `UsageError` if it cannot be made of this contract."""
    choreography = compile_choreography(contract, protocol)
    return _MAKERS[kind](contract, choreography, role or choreography.roles[0])


def _named(contract: Contract, choreography: Choreography) -> str:
    return f", protocol={choreography.name!r}" if len(contract.document.globals) > 1 else ""


def _session(contract: Contract, choreography: Choreography, _: str) -> str:
    return module(
        "from accord import Ok, Session",
        contract_literal(contract.document.source.text),
        f'session = Session(CONTRACT{_named(contract, choreography)}, mode="refuse")',
        '''
def said(sender: str, receiver: str, label: str, payload: dict[str, object] | None = None) -> str | None:
    """Tell it every message before it is delivered: nothing if it may be, else why not, and who is to blame."""
    verdict = session.observe(sender, receiver, label, payload)
    return None if isinstance(verdict, Ok) else verdict.explain()
''',
    )


def _role(contract: Contract, choreography: Choreography, role: str) -> str:
    mine = project(contract, role, choreography.name)
    return module(
        "from accord import Monitor, Ok",
        contract_literal(print_document(mine.document)),
        'monitor = Monitor(CONTRACT, mode="refuse")',
        f'''
def may(label: str, to: str, payload: dict[str, object] | None = None) -> str | None:
    """Ask before {role} sends: nothing if it may, else what to tell the model."""
    verdict = monitor.send(label, payload, to=to)
    return None if isinstance(verdict, Ok) else verdict.explain()
''',
        f'''
def came(label: str, sender: str, payload: dict[str, object] | None = None) -> str | None:
    """Something has reached {role}."""
    verdict = monitor.receive(label, payload, sender=sender)
    return None if isinstance(verdict, Ok) else verdict.explain()
''',
    )


# -- agents ------------------------------------------------------------------------------------------------------------


def _agents(contract: Contract, choreography: Choreography, _: str) -> str:
    labels = sorted({label for _, _, label in choreography.machine.messages} - {CRASH})
    for name in (*labels, *choreography.roles):
        if not name.isidentifier() or keyword.iskeyword(name):
            raise UsageError(f"messages and agents are classes, and `{name}` is no name for one; rename it first")
    enums = [item for item in contract.document.types if isinstance(item, Enumeration)]
    imports = "import asyncio\nfrom dataclasses import dataclass\n"
    imports += "from typing import Literal\n" if enums else ""
    literals = [f"{one.name} = Literal[{', '.join(map(ascii, one.members))}]" for one in enums]
    follows = ", as_={role!r})" if len(contract.document.globals) == 1 else None
    source = "CONTRACT" if follows else f'accord.compile(CONTRACT)["{choreography.name}"]'
    imports += "" if follows else "\nimport accord"
    return module(
        f"{imports}\nfrom accord.agents import Agent, Supervisor, follows",
        contract_literal(contract.document.source.text),
        "\n".join(literals),
        *_messages(contract, labels),
        *(_agent(choreography, role, source) for role in choreography.roles),
        '''
async def main() -> None:
    """Run all of them until nothing is left to be said."""
    supervisor = Supervisor()
'''
        + "\n".join(f"    supervisor.add({role}Agent)" for role in choreography.roles)
        + """
    async with supervisor:
        await supervisor.settled()
""",
        'if __name__ == "__main__":\n    asyncio.run(main())',
    )


def _messages(contract: Contract, labels: list[str]) -> Iterator[str]:
    """A class for each message, and for each record that one is made of, those that others need first."""
    records = {item.name: item for item in contract.document.types if isinstance(item, Record)}
    done: set[str] = set()

    def of(name: str) -> Iterator[str]:
        if name in done:
            return
        done.add(name)
        fields = records[name].fields if name in records else ()
        for field in fields:
            for used in _names(field.type):
                if used in records:
                    yield from of(used)
        body = [f"    {field.name}: {_type(field.type)}" for field in fields] or ["    pass"]
        yield "@dataclass\nclass " + f"{name}:\n" + "\n".join(body)

    for label in (*records, *labels):
        yield from of(label)


def _names(used: FieldType) -> Iterator[str]:
    yield used.name
    for argument in used.arguments:
        yield from _names(argument)


def _type(used: FieldType) -> str:
    inside = [_type(argument) for argument in used.arguments]
    if used.name == "Option":
        return f"{inside[0]} | None"
    if used.name in {"List", "Map"}:
        return f"{used.name.replace('Map', 'dict').lower()}[{', '.join(inside)}]"
    return _TYPES.get(used.name, used.name)


def _agent(choreography: Choreography, role: str, source: str) -> str:
    messages = sorted(message for message in choreography.machine.messages if message[2] != CRASH)
    senders = {label: sender for sender, receiver, label in reversed(messages) if receiver == role}
    sends = sorted({f"{label} to {receiver}" for sender, receiver, label in messages if sender == role})
    text = f'@follows({source}, as_="{role}")\nclass {role}Agent(Agent):\n'
    text += f'    """Sends {", ".join(sends) or "nothing"}."""\n'
    for label, sender in sorted(senders.items()):
        text += f'''
    async def on_{label.lower()}(self, message: {label}) -> None:
        """From {sender}. Say here what follows, such as `await self.send("{sender}", …)`."""
'''
    return text


_MAKERS: dict[str, Callable[[Contract, Choreography, str], str]] = {
    "session": _session,
    "role": _role,
    "agents": _agents,
}
