"""The mistakes: each operator is a function from a module to places in it and the edits that spoil them."""

from __future__ import annotations

from collections.abc import Iterator

from tests.mutants.operators import conditions, keys, statements, values
from tests.mutants.text import Module, Mutant, made

OPERATORS = {
    "comparison": conditions.comparison,
    "bound": values.bound,
    "guard": statements.guard,
    "branch": conditions.branch,
    "logic": conditions.logic,
    "arguments": values.arguments,
    "order": statements.order,
    "copy": values.copy,
    "await": statements.unawaited,
    "exceptions": statements.exceptions,
    "key": keys.key,
    "write": statements.write,
    "result": values.result,
    "minmax": values.minmax,
}


def mutants_of(module: Module) -> Iterator[Mutant]:
    """All mistakes that could be planted in a module; some of them may not compile."""
    for name, operator in OPERATORS.items():
        yield from made(module, name, operator(module))
