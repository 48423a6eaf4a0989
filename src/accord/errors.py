"""The families of errors, by who has to act.

`ContractError`: the author of a contract made a mistake; it carries the diagnostics.
`ViolationError`: an agent broke the contract.
`UsageError`: the caller misused accord; nothing was changed.
`StoreError`: whoever runs the store where sessions are kept: it could not do what it was asked to.
`InternalError`: accord itself is wrong; please report it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from accord.diagnostics import Diagnostic

__all__ = [
    "AccordError",
    "ContractError",
    "CorruptSessionError",
    "InternalError",
    "LabelWarning",
    "NotDone",
    "OrderWarning",
    "ProtocolViolationError",
    "StoreError",
    "UsageError",
    "ViolationError",
]


class AccordError(Exception):
    """Any error that accord raises on purpose.

    `code` is its code in the table that `accord explain` shows, where it has one; its text says it too.
    """

    code: str | None = None

    def __init__(self, *args: object, code: str | None = None) -> None:
        if code is not None:
            self.code = code
            args = (f"{code}: {args[0]}", *args[1:])
        super().__init__(*args)


class ContractError(AccordError):
    """A contract text has errors; `diagnostics` says which and where."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        self.diagnostics = diagnostics
        super().__init__(diagnostics)
        self.code = diagnostics[0].code if diagnostics else None

    def __str__(self) -> str:
        from accord.diagnostics.text import render_all  # noqa: PLC0415 - rendered only when somebody looks

        return "\n" + render_all(self.diagnostics)


class ViolationError(AccordError):
    """An agent broke its contract, or was stopped before it could.

    `verdict` is what the monitor answered. `response` is what a model said that was refused, `results` what became of
    the tool calls of a batch; each is empty where there is none.
    """

    def __init__(
        self,
        message: str,
        verdict: Any = None,  # noqa: ANN401 - verdicts are made above this layer, and so is the rest
        *,
        response: Any = None,  # noqa: ANN401
        results: Iterable[Any] = (),
        code: str | None = None,
    ) -> None:
        super().__init__(message, code=code)
        self.verdict = verdict
        self.response = response
        self.results = list(results)


ProtocolViolationError = ViolationError


class NotDone(Exception):  # noqa: N818 - it says what is known, and a tool raises it
    """A tool raises this to say that it has failed before it did anything: its call is taken back.

    What any other failure means stands in the contract.
    """


class LabelWarning(UserWarning):
    """A contract speaks of labels that nobody gives here, so that some of its clauses never do anything."""


class OrderWarning(UserWarning):
    """The middlewares of an agent are listed in an order in which something that they offer never works."""


class UsageError(AccordError):
    """accord was called in a way that cannot be meant; nothing was changed."""


class StoreError(AccordError):
    """A store could not read or keep a session: it is unreachable, full, busy or broken. The answer is no."""


class CorruptSessionError(StoreError):
    """What a store holds of a session is not what was written. It is left as it is: a person has to look."""


class InternalError(AccordError):
    """A bug in accord. The session's answer is no until it is understood."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}; this is a bug in accord, please report it")
