"""Drawings of contracts, one file per format; all are made from the same tables that run.

`text` is for people at a terminal, `dot` for Graphviz, `mermaid` for Markdown pages, `json` for programs (it is what
the codec reads back). Equal machines have equal drawings. Labels come from anywhere, so no drawing ever holds a raw
control character.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from accord.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from accord.machine.contract import Contract
    from accord.machine.rules import RuleMachine
    from accord.machine.tables import Machine

__all__ = ["FORMATS", "Format", "draw", "draw_contract"]

Format = Literal["text", "dot", "mermaid", "json"]

FORMATS: tuple[Format, ...] = get_args(Format)


def draw(
    machine: Machine,
    format: Format = "text",  # noqa: A002 - the word for it
    current: Collection[int] | None = None,
    rules: Sequence[RuleMachine] = (),
) -> str:
    """The drawing of a machine, without a final newline.

    `current` holds the numbers of the states to be marked as those a session is in, `rules` what is drawn beside them.
    The JSON form has no place for either.

    Example:
        >>> from accord import compile
        >>> print(draw(compile("!Ask.?{Yes, No}.end").machine(), current=[1]))
        bare protocol, 3 states
         → 0  !Ask → 1
        ●  1  ?No → 2, ?Yes → 2
           2  end
    """
    marked = frozenset(current or ())
    if format == "text":
        from accord.machine.draw.text import draw_rules_text, draw_text  # noqa: PLC0415 - each format loads alone

        return draw_text(machine, marked) + (f"\n\n{draw_rules_text(rules)}" if rules else "")
    if format == "dot":
        from accord.machine.draw.dot import draw_dot  # noqa: PLC0415

        return draw_dot(machine, marked, rules)
    if format == "mermaid":
        from accord.machine.draw.mermaid import draw_mermaid  # noqa: PLC0415

        return draw_mermaid(machine, marked, rules)
    if format == "json":
        from accord.machine.draw.as_json import draw_json  # noqa: PLC0415

        return draw_json(machine)
    raise UsageError(f"a drawing is one of {', '.join(f'`{name}`' for name in FORMATS)}, got {format!r}")


def draw_contract(
    contract: Contract,
    format: Format = "text",  # noqa: A002 - the word for it
    protocol: str | None = None,
) -> str:
    """Everything a contract declares, or one protocol of it with the rules, without a final newline.

    The text form lists the rules once, behind the protocols; each picture has them, because it stands alone. The JSON
    form is a list of machines and rules, or the one machine that was asked for.

    Example:
        >>> from accord import compile
        >>> print(draw_contract(compile('rule "retry limit" { at most 3 Retry }')))
        1 rule
           "retry limit"  at most 3 Retry
    """
    rules = contract.rules.machines
    if protocol is not None:
        return draw(contract.machine(protocol), format, None, rules)
    machines = list(contract.machines.values())
    if format == "json":
        from accord.machine.draw.as_json import draw_rule_json  # noqa: PLC0415 - each format loads alone

        drawings = [*(draw(machine, format) for machine in machines), *map(draw_rule_json, rules)]
        return "[\n" + ",\n".join(drawings) + "\n]"
    if not machines:
        return _draw_rules(rules, format)
    last = len(machines) - 1
    everywhere = format != "text"
    return "\n\n".join(
        draw(machine, format, None, rules if everywhere or number == last else ())
        for number, machine in enumerate(machines)
    )


def _draw_rules(rules: Sequence[RuleMachine], format_: Format) -> str:
    if format_ == "dot":
        from accord.machine.draw.dot import draw_rules_dot  # noqa: PLC0415

        return draw_rules_dot(rules)
    if format_ == "mermaid":
        from accord.machine.draw.mermaid import draw_rules_mermaid  # noqa: PLC0415

        return draw_rules_mermaid(rules)
    from accord.machine.draw.text import draw_rules_text  # noqa: PLC0415

    return draw_rules_text(rules)
