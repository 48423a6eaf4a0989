"""What the stepper shows between two lines: a section each for the machine, the instances, the registers and so on.

Every section is a text, empty if there is nothing to say. All of it is safe, though keys and values come from anywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.cli.verdict_lines import event_width, verdict_line
from accord.diagnostics.visible import clip, display_width, visible
from accord.machine.draw.text import CURRENT, draw_states, draw_title, neighbourhood
from accord.machine.extent import Extent
from accord.machine.standing import OpenStanding
from accord.monitor.owing import owing_rules
from accord.monitor.step import is_over, status
from accord.monitor.verdicts import Violation
from accord.stepping.happenings import Tick
from accord.stepping.holdings import registers_of
from accord.stepping.instances import course_of, instance_text, keys_of, latest_instance, shown_key
from accord.stepping.moments import clock_text, now_of
from accord.stepping.moves import actions, occupied

if TYPE_CHECKING:
    from accord.cli.stepper import Stepper
    from accord.cli.terminal import Screen
    from accord.machine.contract import Contract
    from accord.machine.rules import RuleNode

__all__ = ["draw_machine", "sections"]

_TURNS_SHOWN = 6
_ACTIONS_SHOWN = 12
_REGISTERS_SHOWN = 8
_RULES_SHOWN = 8
_INSTANCES_SHOWN = 6
_RULE_INSTANCES_SHOWN = 3
_LEAST_STATES_SHOWN = 8
_WIDEST_LINE = 100


def sections(screen: Screen, contract: Contract, stepper: Stepper) -> list[str]:
    """Everything but the machine, from top to bottom."""
    return [
        _instances(screen, stepper),
        _registers(screen, stepper),
        _rules(screen, stepper),
        _past(screen, contract, stepper),
        _status(screen, stepper),
        _choices(screen, stepper),
    ]


def _clipped(screen: Screen, text: str, indent: int) -> str:
    """Text that stays on its line."""
    return clip(text, _WIDEST_LINE if screen.width is None else max(screen.width - indent, 20))


def _status(screen: Screen, stepper: Stepper) -> str:
    outcome = status(stepper.situation)
    painted = screen.paint("good" if outcome in {"running", "complete"} else "error", outcome)
    clock = clock_text(stepper.situation)
    lines = [f"{screen.paint('strong', 'status')}  {painted}, mode {stepper.mode}"]
    return "\n".join([*lines, *([f"{screen.paint('strong', 'time')}    {clock}"] if clock else [])])


def draw_machine(screen: Screen, stepper: Stepper, room: int) -> str:
    """The machine, or of a large one where the session is; nothing where there are only rules."""
    standing, sliced = stepper.situation.standing, stepper.situation.stage.stages.sliced
    if isinstance(standing, OpenStanding) and sliced is None:
        return ""
    machine = standing.standings.machine if sliced is None else sliced.standings.machine
    current = occupied(stepper.situation)
    most = max(room, _LEAST_STATES_SHOWN)
    only = None
    if len(machine.states) > most:
        # First where the session is, then where it goes from there; where it came from if there is room.
        came_from = [number for turn in stepper.turns[:-3:-1] for number in sorted(occupied(turn.situation))]
        only = neighbourhood(machine, [*sorted(current), *came_from] or [0], most)
    lines = draw_states(machine, current, only)
    painted = [screen.paint("good", line) if line.startswith(CURRENT) else line for line in lines]
    return "\n".join([screen.paint("strong", draw_title(machine)), *painted])


def _instances(screen: Screen, stepper: Stepper) -> str:
    """The instances of a sliced protocol in which something happened last, and where they stand."""
    sliced = course_of(stepper.situation)
    if sliced is None:
        return ""
    protocol, course = sliced
    keys = [key for key in keys_of(protocol.path, (turn.event for turn in stepper.turns)) if key in course.instances]
    widest = _WIDEST_LINE if screen.width is None else screen.width // 2
    names = {key: clip(shown_key(protocol.path, key), widest) for key in keys[:_INSTANCES_SHOWN]}
    width = max(map(display_width, names.values()), default=0)
    lines = []
    for key, name in names.items():
        padding = " " * (width - display_width(name))
        text = _clipped(screen, instance_text(course.instances[key], now_of(stepper.situation) or 0), width + 8)
        lines.append(f"      {name}{padding}  {screen.paint('faint', text) if text == 'finished' else text}")
    if len(keys) > len(names):
        lines.append(screen.paint("faint", f"      … {len(keys) - len(names)} more"))
    return "\n".join([screen.paint("strong", "instances"), *(lines or [screen.paint("faint", "      none yet")])])


def _registers(screen: Screen, stepper: Stepper) -> str:
    """What the session holds, or of a sliced protocol the instance in which something happened last."""
    latest = latest_instance(stepper.situation, (turn.event for turn in stepper.turns))
    held = registers_of(stepper.situation, latest[1] if latest else None)
    if not held:
        return ""
    names = {name: clip(name, 24) for name in held}
    width = max(map(display_width, names.values()))
    lines = []
    for name, value in list(held.items())[:_REGISTERS_SHOWN]:
        padding = " " * (width - display_width(names[name]))
        shown = screen.paint("faint", "not bound yet") if value is None else _clipped(screen, value, width + 8)
        lines.append(f"      {names[name]}{padding}  {shown}")
    if len(held) > _REGISTERS_SHOWN:
        lines.append(screen.paint("faint", f"      … {len(held) - _REGISTERS_SHOWN} more"))
    return "\n".join([screen.paint("strong", "registers") + (f" of {latest[0]}" if latest else ""), *lines])


def _rules(screen: Screen, stepper: Stepper) -> str:
    """Each rule and what it has seen; those that are owed something come first if not all can be shown."""
    situation = stepper.situation
    nodes = list(situation.rules)
    if not nodes:
        return ""
    extent = situation.holding if isinstance(situation.holding, Extent) else None
    owing = {rule.machine for rule in owing_rules(situation.stage, extent)}
    lines = []
    shown = nodes
    if len(nodes) > _RULES_SHOWN:
        shown = sorted(nodes, key=lambda node: node.machine not in owing)[:_RULES_SHOWN]
    for node in shown:
        mark = screen.paint("warning", "owed") if node.machine in owing else "    "
        lines.append(f"{mark}  {_clipped(screen, node.machine.text, 6)}")
        for seen in _seen(stepper, node):
            broken = screen.prose(visible(seen), " " * 8).splitlines()
            lines += [screen.paint("faint", line) for line in broken]
    if len(nodes) > len(shown):
        lines.append(screen.paint("faint", f"      … {len(nodes) - len(shown)} more"))
    return "\n".join([screen.paint("strong", "rules"), *lines])


def _seen(stepper: Stepper, node: RuleNode) -> list[str]:
    """What a rule has seen; of a sliced one, in the instances in which something happened last."""
    machine, situation = node.machine, stepper.situation
    if machine.each is None or not isinstance(situation.holding, Extent):
        return [machine.describe(node.state)]
    book = situation.stage.stages.book
    instances = situation.holding.slices[book.sliced.index(book.machines.index(machine))].instances
    keys = [key for key in keys_of(machine.each, (turn.event for turn in stepper.turns)) if key in instances]
    lines = [
        f"{shown_key(machine.each, key)}: {machine.describe(instances[key].state)}"
        for key in keys[:_RULE_INSTANCES_SHOWN]
    ]
    if len(keys) > len(lines):
        lines.append(f"… {len(keys) - len(lines)} more")
    return lines or ["nothing to remember so far"]


def _past(screen: Screen, contract: Contract, stepper: Stepper) -> str:
    if not stepper.turns:
        return ""
    width = event_width(screen, contract, stepper.situation.standing.standings.machine.name)
    hidden = max(len(stepper.turns) - _TURNS_SHOWN, 0)
    lines = [screen.paint("faint", f"   … {hidden} before")] if hidden else []
    number = sum(not isinstance(turn.event, Tick) for turn in stepper.turns[:hidden])
    for turn in stepper.turns[hidden:]:
        number += not isinstance(turn.event, Tick)
        line = verdict_line(screen, number, turn.event, turn.verdict, width)
        # The explanation of a violation is shown once, as the answer to what was typed.
        lines.append(line.splitlines()[0] if isinstance(turn.verdict, Violation) else line)
    return "\n".join([screen.paint("strong", "so far"), *lines])


def _choices(screen: Screen, stepper: Stepper) -> str:
    situation = stepper.situation
    possible = actions(situation)
    lines = [
        f"{screen.paint('faint', f'{number:>4}')}  {_clipped(screen, symbol.word, 6)}"
        for number, symbol in enumerate(possible[:_ACTIONS_SHOWN], 1)
    ]
    if len(possible) > _ACTIONS_SHOWN:
        lines.append(screen.paint("faint", f"      … {len(possible) - _ACTIONS_SHOWN} more"))
    if is_over(situation.place):
        lines.append("      nothing; `undo` takes the last event back, `reset` starts again")
    else:
        stages = situation.stage.stages
        if stages.machine.is_open:
            alone = stages.sliced is None and isinstance(situation.standing, OpenStanding)
            what = "else too: there is no protocol" if alone else "that the protocol does not name"
            lines.append(f"      anything {what}")
        if status(situation) == "complete":
            lines.append("      `close`: the session may end here")
        elif not lines:
            lines.append("      nothing: the rules refuse every step")
    return "\n".join([screen.paint("strong", "may happen now"), *lines])
