"""Random agents: code that walks along its role's machine, with a slip here and there.

Every condition is a `flip()`, so that what lint says of all paths is what running all schedules shows.
"""

from __future__ import annotations

from random import Random
from textwrap import indent

from accord.agents.check.contracts import compile_text
from accord.agents.check.scripts import Script
from accord.diagnostics import Source
from accord.language.global_tree import CRASH

_MANAGERS = """
class Quiet:
    async def __aenter__(self):
        return self
    async def __aexit__(self, kind, error, trace):
        return kind is ValueError


import contextlib


@contextlib.contextmanager
def quiet():
    try:
        yield
    except ValueError:
        print("quiet")


"""


class Writer:
    """Writes the agent of a role."""

    def __init__(self, contract: str, protocol: str, role: str, chance: Random, slips: float) -> None:
        self.script = Script(compile_text(Source(contract)), protocol, role)
        self.chance = chance
        self.slips = slips
        self.left = 0
        self.parts: list[str] = []

    def slip(self) -> bool:
        return self.chance.random() < self.slips

    def agent(self) -> str:
        script = self.script
        methods = []
        handlers = {}
        for moves in script.receives:
            for (label, sender), target in moves.items():
                if label not in handlers or self.chance.random() < 0.3:
                    handlers[label] = (sender, target)
        if script.sends[0]:
            self.left = 5
            methods.append("async def on_start(self):\n" + indent(self.block(0, None), "    "))
        for label, (sender, target) in handlers.items():
            if self.slip():
                continue
            self.left = 5
            name = "Crash" if label == CRASH else label
            body = self.block(target, sender)
            methods.append(f"async def on_{label.lower()}(self, message: {name}):\n" + indent(body, "    "))
        for number, text in enumerate(self.parts):
            methods.append(f"async def part_{number}(self):\n" + indent(text, "    "))
        body = "\n\n".join(methods) or "pass"
        return _MANAGERS + f'@follows(CONTRACT, as_="{script.role}")\nclass Tested(Agent):\n{indent(body, "    ")}\n'

    def block(self, state: int, last: str | None) -> str:
        """What a strand does from a state on."""
        self.left -= 1
        if self.slip():
            return self.chance.choice(["return\n", self.odd() + self.follow(state, last), "pass\n"])
        text = self.follow(state, last)
        if self.chance.random() < 0.15:
            return f"try:\n    work('x')\nexcept ValueError:\n    print('failed')\n{text}"
        if self.chance.random() < 0.15:
            return f"try:\n    work('x')\n{indent(text, '    ')}except ValueError:\n{indent(text, '    ')}"
        if self.chance.random() < 0.1:
            return f"try:\n{indent(text, '    ')}finally:\n    print('over')\n"
        return self.wrapped(text) if self.chance.random() < 0.45 else text

    def wrapped(self, text: str) -> str:
        """The same in some way in which people write; where it may be left out, that is a slip."""
        front, call = "", f"self.part_{len(self.parts)}()"
        ways = ["for _ in range(1):", "for word in ('a',):", "async with asyncio.timeout(60):", "if (yes := True):"]
        ways += [
            f"await {call}",
            f"[await {call} for _ in (1,)]",
            f"await asyncio.wait_for({call}, 60)",
            "match",
            "flag",
        ]
        if self.slip():
            ways = ["with suppress(ValueError):", "with quiet():", "async with Quiet():", "for _ in range(2):"]
            front = "work('x')\n" if self.chance.random() < 0.7 else ""
        way = self.chance.choice(ways)
        if "part_" in way:
            self.parts.append(text)
            return f"{way}\nreturn\n"
        inner = indent(front + text, "    ")
        if way == "match":
            return f"match flip():\n    case True:\n{indent(inner, '    ')}    case _:\n{indent(inner, '    ')}"
        if way == "flag":
            return f"flag = flip()\nif flag:\n{inner}if not flag:\n{inner}"
        return f"{way}\n{inner}"

    def odd(self) -> str:
        """Something that has no business here."""
        labels = sorted({label for label, _ in self.script.sent | self.script.received} - {CRASH})
        label = self.chance.choice(labels)
        role = self.chance.choice([other for other in self.script.roles if other != self.script.role])
        kinds = [f'await self.send("{role}", make_{label}())\n', f"await self.reply(make_{label}())\n"]
        return self.chance.choice([*kinds, f"await self.receive({label})\n"])

    def follow(self, state: int, last: str | None) -> str:
        script = self.script
        sends, receives = script.sends[state], script.receives[state]
        if sends:
            choices = self.chance.sample(list(sends.items()), min(len(sends), 1 if self.left < 0 else 2))
            if self.left < 0:
                choices = [min(sends.items(), key=lambda move: self.distance(move[1]))]
            texts = [self.send(label, role, last) + self.rest(target, last) for (label, role), target in choices]
            if len(texts) == 1:
                return texts[0]
            return f"if flip():\n{indent(texts[0], '    ')}else:\n{indent(texts[1], '    ')}"
        if receives and self.left > 0 and self.chance.random() < 0.5:
            names = ["Crash" if label == CRASH else label for label, _ in receives]
            text = f"message = await self.receive({' | '.join(dict.fromkeys(names))})\n"
            for name, ((_, sender), target) in zip(names, receives.items(), strict=True):
                body = self.rest(target, sender)
                text += f"if isinstance(message, {name}):\n{indent(body, '    ')}    return\n"
            return text
        return "pass\n"

    def rest(self, target: int, last: str | None) -> str:
        return self.block(target, last) if self.left > -6 else "pass\n"

    def send(self, label: str, role: str, last: str | None) -> str:
        if role == last and self.chance.random() < 0.5:
            return f"await self.reply(make_{label}())\n"
        return f'await self.send("{role}", make_{label}())\n'

    def distance(self, state: int) -> int:
        """Steps to where nothing is owed."""
        seen, here, far = {state}, [state], 0
        while here and not any(not self.script.sends[s] for s in here):
            here = [t for s in here for t in self.script.sends[s].values() if t not in seen]
            seen.update(here)
            far += 1
        return far
