"""Drawings of machines, one file per format; all are made from the same tables that run.

`text` is for people at a terminal, `dot` for Graphviz, `mermaid` for Markdown pages, `json` for programs (it is what
the codec reads back). Equal machines have equal drawings. Labels come from anywhere, so no drawing ever holds a raw
control character.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from accord.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection

    from accord.machine.tables import Machine

__all__ = ["FORMATS", "Format", "draw"]

Format = Literal["text", "dot", "mermaid", "json"]

FORMATS: tuple[Format, ...] = get_args(Format)


def draw(
    machine: Machine,
    format: Format = "text",  # noqa: A002 - the word for it
    current: Collection[int] | None = None,
) -> str:
    """The drawing of a machine, without a final newline.

    `current` holds the numbers of the states to be marked as those a session is in. The JSON form has no place for
    them.

    Example:
        >>> from accord.machine import compile_contract
        >>> print(draw(compile_contract("!Ask.?{Yes, No}.end").machine(), current=[1]))
        bare protocol, 3 states
         → 0  !Ask → 1
        ●  1  ?No → 2, ?Yes → 2
           2  end
    """
    marked = frozenset(current or ())
    if format == "text":
        from accord.machine.draw.text import draw_text  # noqa: PLC0415 - each format loads alone

        return draw_text(machine, marked)
    if format == "dot":
        from accord.machine.draw.dot import draw_dot  # noqa: PLC0415

        return draw_dot(machine, marked)
    if format == "mermaid":
        from accord.machine.draw.mermaid import draw_mermaid  # noqa: PLC0415

        return draw_mermaid(machine, marked)
    if format == "json":
        from accord.machine.draw.as_json import draw_json  # noqa: PLC0415

        return draw_json(machine)
    raise UsageError(f"a drawing is one of {', '.join(f'`{name}`' for name in FORMATS)}, got {format!r}")
