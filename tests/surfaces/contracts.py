"""Random contracts, as text: everything that the language has between an agent and its tools.

Words are few, so that clauses meet the same calls. Each contract says which constructs it has, for the tables.
"""

from __future__ import annotations

from random import Random

from accord.errors import ContractError
from accord.language.tree import Document
from tests.surfaces.once import read

__all__ = ["CONSTRUCTS", "STRANGER", "TOOLS", "Written", "random_contract"]

TOOLS = ("search", "book", "pay")
STRANGER = "weather"
GATE = "approval"
SIGN = "order"
"""What the program reports."""
RENAMED = {"search": "Found", "book": "Trip", "pay": "Money"}
FORMS = (
    "before", "before each", "after", "after each", "after forbid", "at most", "forbid", "within",
)  # fmt: skip
SHAPES = ("sequence", "choice", "loop", "parts", "deadline", "data of calls", "data of results", "gate", "registers")
AROUND = ("sliced protocol", "sliced rule", "open", "closed", "rules alone", "events block", "named otherwise", "tools")
CONSTRUCTS = (*SHAPES, *FORMS, *AROUND)


class Written:
    """A contract, its text, and what is in it."""

    def __init__(self, text: str, document: Document, made: set[str], labels: dict[str, str]) -> None:
        self.text, self.document, self.made = text, document, made
        self.labels = labels
        """Of each tool, the label that most of its calls have."""


def random_contract(rng: Random, features: frozenset[str], wanted: str | None = None) -> Written:
    """A contract that the language takes and that has nothing but these features; one in which the wanted is likely."""
    while True:
        writer = Writer(rng, features, wanted)
        text = writer.contract()
        try:
            return Written(text, read(text), writer.made, writer.labels)
        except ContractError:
            continue  # what is put together at random is not always well-formed


class Writer:
    """Writes one contract."""

    def __init__(self, rng: Random, features: frozenset[str], wanted: str | None = None) -> None:
        self.rng, self.features, self.wanted = rng, features, wanted
        self.made: set[str] = set()
        self.labels = {tool: tool for tool in TOOLS}
        self.gate, self.sign = GATE, SIGN
        self.is_timed = "time" in features and rng.random() < 0.15
        self.has_gates = "gates" in features and rng.random() < (0.4 if wanted != "answers" else 1)
        self.has_signs = "program events" in features and rng.random() < 0.3

    def maybe(self, odds: float) -> bool:
        return self.rng.random() < odds

    def contract(self) -> str:
        block = self.events() if "events" in self.features and self.maybe(0.35) else ""
        items = [block] if block else []
        alone = self.maybe(0.25 if self.wanted is None else 0.5)
        if alone:
            self.made.add("rules alone")
        else:
            items.append(self.protocol())
        rules = self.rng.choice((1, 1, 2, 3) if alone else (0, 0, 1, 1, 2) if self.wanted is None else (1, 2))
        items += [self.rule(f"r{number}") for number in range(rules)]
        if "tools" in self.features and self.maybe(0.4):
            items.append(self.tools())
        return "\n".join(items) + "\n"

    # -- events and tools ----------------------------------------------------------------------------------------------

    def events(self) -> str:
        """Lines for some tools; for all of them, unless the rest keeps its names."""
        rng, lines = self.rng, []
        self.made.add("events block")
        keeps = "named otherwise" in self.features and self.maybe(0.5)
        for tool in TOOLS:
            if keeps and self.maybe(0.5):
                continue
            label = self.labels[tool] = RENAMED[tool]
            if self.maybe(0.2):
                lines.append(f"Large when call {tool} where x > 2")
            if self.maybe(0.1):
                lines.append(f"ignore when call {tool} where x == 0")
            lines.append(f"{label} when call {tool}")
            if self.maybe(0.8):
                lines.append(f"{label} when result of {tool}" + (" where x <= 2" if self.maybe(0.2) else ""))
            if self.maybe(0.4):
                lines.append(f"{label} when error of {tool}")
        if self.has_gates:
            lines.append(self._approval())
        if self.has_signs and not keeps:
            lines.append(f"{SIGN} when event {SIGN}")
        if "text" in self.features and self.maybe(0.4):
            lines.append(rng.choice(('Said when agent says "done"', 'Asked when user says matches "^please"')))
            self.made |= {"text lines"}
        if keeps:
            self.made.add("named otherwise")
        return (
            "events {\n" + "".join(f"  {line}\n" for line in lines) + ("  as named otherwise\n" if keeps else "") + "}"
        )

    def _approval(self) -> str:
        if "text" in self.features and ("approvals" not in self.features or self.maybe(0.5)):
            return f'{GATE} when user says "yes"'
        return f"{GATE} when event {GATE}"

    def tools(self) -> str:
        self.made.add("tools")
        rng = self.rng
        lines = [f"  {tool} fails {rng.choice(('undone', 'done', 'unknown'))}" for tool in TOOLS if self.maybe(0.5)]
        if not lines or self.maybe(0.3):
            lines.append(f"  otherwise fails {rng.choice(('undone', 'done', 'unknown'))}")
        return "tools {\n" + "\n".join(lines) + "\n}"

    # -- data ----------------------------------------------------------------------------------------------------------

    def guard(self, *, of_end: bool) -> str:
        rng = self.rng
        if of_end and "fields of ends" in self.features and self.maybe(0.35):
            return rng.choice(("error == null", "error != null", "call.x <= 1", 'call_id != "c0"', "call.x == 2"))
        if of_end and self.maybe(0.15):
            return rng.choice(('text == "done"', 'text matches "o"'))
        return rng.choice(("x == 1", "x <= 1", "x > 0", "x in [0, 2]", "x != 2", "x == 1", "y == 1"))

    def step(self, direction: str, label: str, odds: float = 0.3) -> str:
        if not self.maybe(odds):
            return f"{direction}{label}"
        self.made.add("data of calls" if direction == "!" else "data of results")
        if direction == "!" and self.maybe(0.25):
            self.made.add("registers")
            return f"!{label}(x as r)"
        if direction == "?" and "registers" in self.made and self.maybe(0.3):
            return f"?{label}(x == r)"
        return f"{direction}{label}({self.guard(of_end=direction == '?')})"

    # -- protocols -----------------------------------------------------------------------------------------------------

    def protocol(self) -> str:
        opened = "open" in self.features and self.maybe(0.4)
        sliced = "slices" in self.features and self.maybe(0.3)
        self.made |= {"open" if opened else "closed"} | ({"sliced protocol"} if sliced else set())
        return f"protocol P{' open' if opened else ''} = {'each k: ' if sliced else ''}{self.body()}"

    def body(self) -> str:
        kind = self.rng.random()
        if kind < 0.3 and self.wanted != "long":
            self.made.add("sequence")
            return ".".join([*(self.act(tool) for tool in self.some(1, 4)), *(["end"] if self.maybe(0.7) else [])])
        self.made |= {"loop", "choice"}
        branches = [f"{self.act(tool)}.L" for tool in dict.fromkeys(self.some(1, 3))]
        if self.maybe(0.4):
            branches.append("end")
        loop = f"rec L.{{{', '.join(branches)}}}"
        return f"{self.act(self.rng.choice(TOOLS))}.{loop}" if self.maybe(0.2) else loop

    def some(self, least: int, most: int) -> list[str]:
        return [self.rng.choice(TOOLS) for _ in range(self.rng.randint(least, most))]

    def act(self, tool: str) -> str:
        """A call, with what comes before it and its end."""
        label, rng = self.labels[tool], self.rng
        before = ""
        if self.has_gates and self.maybe(0.3):
            self.made.add("gate")
            before = f"?{self.gate} by human."
        elif self.has_signs and self.maybe(0.3):
            before = f"?{self.sign}" + rng.choice(("", "(x > 0)")) + "."
        call = self.step("!", label)
        kind = rng.random()
        if kind < 0.35:
            after = ""
        elif kind < 0.8:
            after = "." + self.step("?", label, 0.35)
        else:
            self.made |= {"choice", "data of results"}
            other = rng.choice([one for one in TOOLS if one != tool])
            after = f".{{?{label}(x <= 1), ?{label}(x > 1).{self.step('!', self.labels[other])}}}"
        if self.is_timed and not before and self.maybe(0.4):
            self.made.add("deadline")
            late = rng.choice([one for one in TOOLS if one != tool])
            return f"!{label} within {rng.randint(1, 5)}s else !{self.labels[late]}" + (after if kind < 0.35 else "")
        if self.maybe(0.12):
            other = rng.choice([one for one in TOOLS if one != tool])
            self.made.add("parts")
            beside = f"!{self.labels[other]}" + rng.choice(("", f".?{self.labels[other]}"))
            return f"{before}({call}{'' if kind >= 0.8 else after} | {beside})"
        return f"{before}{call}{after}"

    # -- rules ---------------------------------------------------------------------------------------------------------

    def pattern(self, *, of_end: bool | None = None) -> str:
        rng = self.rng
        label = self.labels[rng.choice(TOOLS)]
        if self.has_signs and self.maybe(0.15):
            label = self.sign
        is_end = self.maybe(0.4) if of_end is None else of_end
        direction = "?" if is_end else rng.choice(("", "", "!"))
        guard = f"({self.guard(of_end=is_end)})" if self.maybe(0.35) else ""
        if guard:
            self.made.add("data of results" if is_end else "data of calls")
        return f"{direction}{label}{guard}"

    def condition(self, depth: int = 2) -> str:
        kind = self.rng.random()
        if self.has_gates and self.maybe(0.25):
            self.made.add("gate")
            return f"{self.gate} by human"
        if depth == 0 or kind < 0.5:
            return self.pattern()
        if kind < 0.62:
            return f"at least {self.rng.randint(1, 2)} {self.pattern()}"
        if kind < 0.74:
            return f"at most {self.rng.randint(0, 2)} {self.pattern()}"
        if kind < 0.84:
            return f"not {self.pattern()}"
        several = [self.condition(0) for _ in range(2)]
        if kind < 0.92:
            return self.rng.choice((" and ", " or ")).join(several)
        return self.rng.choice(("all of", "any of", "1 of")) + f" [{', '.join(several)}]"

    def foreseeing(self) -> str:
        """What a call that is out may return decides."""
        limit, guard = self.rng.choice(("at most 0", "at most 1", "not")), self.guard(of_end=True)
        self.made |= {"before", "data of results"}
        return f"before {self.pattern(of_end=False)} require {limit} ?{self.labels[self.rng.choice(TOOLS)]}({guard})"

    def rule(self, name: str) -> str:
        if self.wanted == "foreseen" and self.maybe(0.7):
            return f'rule "{name}" {{ {self.foreseeing()} }}'
        forms = [form for form in FORMS if form != "within" or self.is_timed]
        form = "within" if self.is_timed and self.maybe(0.5) else self.rng.choice(forms)
        self.made.add(form)
        body = {
            "before": lambda: f"before {self.pattern(of_end=False)} require {self.condition()}",
            "before each": lambda: f"before each {self.pattern(of_end=False)} require {self.condition()}",
            "after": lambda: f"after {self.pattern()} require {self.condition()}",
            "after each": lambda: f"after each {self.pattern()} require {self.pattern()}",
            "after forbid": lambda: f"after {self.pattern()} forbid {self.pattern(of_end=False)}",
            "at most": lambda: f"at most {self.rng.randint(0, 3)} {self.pattern(of_end=False)}",
            "forbid": self.forbidden,
            "within": lambda: f"within {self.rng.randint(1, 5)}s after {self.pattern()} require {self.pattern()}",
        }[form]()
        sliced = "slices" in self.features and self.maybe(0.25)
        self.made |= {"sliced rule"} if sliced else set()
        return f'rule "{name}" {{ {"each k: " if sliced else ""}{body} }}'

    def forbidden(self) -> str:
        ends = self.maybe(0.2)
        steps = [self.pattern(of_end=ends) for _ in range(self.rng.randint(2, 3))]
        return f"forbid {steps[0]}" + "".join(self.rng.choice((" then ", " ... ")) + step for step in steps[1:])
