"""`rows.md`: runs about which surfaces differed once, each driven through every surface that can be told of it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from accord import Guard, Monitor, compile
from accord.audit import audit
from accord.errors import ContractError
from accord.langchain import AccordMiddleware
from accord.studio.bounds import Bounds
from accord.studio.workshop import Workshop
from accord.testing import assert_conforms
from tests.surfaces.capabilities import BY_NATURE, can, speaks
from tests.surfaces.comparing import difference
from tests.surfaces.generate import pair_of
from tests.surfaces.happenings import Finding, Happening, Outcome, Run
from tests.surfaces.surfaces import SURFACES

pytestmark = pytest.mark.filterwarnings("ignore::accord.errors.LabelWarning")

ROWS = Path(__file__).with_name("rows.md")
CASE = re.compile(
    r"^## (.+?)\n\n```accord\n(.+?)```\n\n```run\n(.+?)```\n\n```answer\n(.+?)```", re.MULTILINE | re.DOTALL
)


def run_of(text: str) -> Run:
    """The happenings that the lines of a run say."""
    found: list[Happening] = []
    calls: dict[str, Happening] = {}
    messages = 0
    for line in text.strip().splitlines():
        if line.startswith("message: "):
            for said in re.findall(r"(\w+) (\{.*?\}) as (\w+)", line):
                call = Happening("call", said[0], json.loads(said[1]), said[2], messages)
                calls[said[2]] = call
                found.append(call)
            messages += 1
        elif ended := re.fullmatch(r"(\w+) (returns|fails:) (.+)", line):
            call = calls[ended[1]]
            kind, body = ("result", json.loads(ended[3])) if ended[2] == "returns" else ("error", ended[3])
            found.append(Happening(kind, call.name, body, call.id, call.message))
        elif said := re.fullmatch(r"(user|agent) says (.+)", line):
            found.append(Happening(said[1], "", json.loads(said[2])))
        elif fired := re.fullmatch(r"event (\w+) (\{.*?\})(?: by (\w+))?", line):
            found.append(Happening("event", fired[1], json.loads(fired[2]), by=fired[3]))
        else:
            raise ValueError(f"no line of a run: {line}")
    return tuple(found)


def answer_of(text: str) -> Outcome:
    """What must be said, as `rows.md` writes it."""
    first, *more = text.strip().splitlines()
    status, _, refused = first.partition(": ")
    findings = [Finding(int(one.split(" by ")[0]), one.split(" by ")[1]) for one in refused.split(", ") if one]
    waits = [line.removeprefix("waits ") for line in more]
    waited = len(waits[0].split(",")) if waits else 0
    return Outcome(tuple(findings), None if status == "violating" else status == "conforming", waited)


def cases() -> list[tuple[str, str, Run, Outcome]]:
    return [
        (title, text, run_of(run), answer_of(answer)) for title, text, run, answer in CASE.findall(ROWS.read_text())
    ]


CASES = {title: case for title, *case in cases()}


def of_nature(surface: str, uses: frozenset[str]) -> bool:
    """Whether a surface cannot be told of a run that uses these."""
    return bool(uses & set(BY_NATURE.get(surface, {})))


def test_no_case_is_lost():
    assert len(CASES) == ROWS.read_text().count("\n## ")


@pytest.mark.parametrize("title", CASES)
def test_the_reference_says_so(title):
    text, run, answer = CASES[title]
    if not speaks(text):
        pytest.skip("not built yet: the language does not have it")
    found = pair_of(text, run).outcome
    wanted = [(finding.index, finding.clause) for finding in answer.findings]
    assert [(finding.index, finding.clause) for finding in found.findings] == wanted
    assert answer.complete in {None, found.complete}
    assert found.waited == answer.waited


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("title", CASES)
def test_every_surface_says_so(title, surface):
    text, run, _ = CASES[title]
    if not speaks(text):
        pytest.skip("not built yet: the language does not have it")
    pair = pair_of(text, run)
    if of_nature(surface, pair.uses):
        return
    lacking = pair.uses - (can(surface) or frozenset())
    if can(surface) is None or lacking:
        pytest.skip(f"not built yet on {surface}: {', '.join(sorted(lacking)) or 'all of it'}")
    why = difference(pair.outcome, SURFACES[surface](compile(text), run))
    assert why is None, why


# -- a choreography that nobody can follow -----------------------------------------------------------------------------

UNFOLLOWABLE = "protocol P { choice at A { A -> B: m; C -> D: x } or { A -> B: n; C -> D: y } }\n"
BESIDE = "protocol Q = rec L.{!search.?search.L, end}\n"
"""A protocol that can be followed, in the same text: which of them is used is no reason to let the other pass."""


def entries(text: str, name: str | None, folder: Path):
    """Everything that takes the text of a contract, and the name of one of its protocols."""
    runs = folder / "runs.jsonl"
    runs.write_text('{"messages": [{"role": "user", "content": "hi"}]}\n')
    contract = folder / "race.accord"
    contract.write_text(text)
    return {
        "compile": lambda: compile(text),
        "Monitor": lambda: Monitor(text, protocol=name),
        "Guard": lambda: Guard(text, protocol=name),
        "AccordMiddleware": lambda: AccordMiddleware(text, protocol=name),
        "audit": lambda: audit(contract, [str(runs)], protocol=name),
        "trace": lambda: assert_conforms([], text, protocol=name),
        "studio": lambda: Workshop(Bounds(), folder).compiled(text),
    }


ENTRIES = ("compile", "Monitor", "Guard", "AccordMiddleware", "audit", "trace", "studio")


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("beside", ["", BESIDE], ids=["alone", "beside another"])
def test_a_choreography_that_nobody_can_follow_is_refused_by_every_entry(entry, beside, tmp_path):
    with pytest.raises(ContractError) as refused:
        entries(UNFOLLOWABLE + beside, "Q" if beside else None, tmp_path)[entry]()
    assert "E036" in {finding.code for finding in refused.value.diagnostics}
