"""The exit status of the command line: what a number means, whichever command ends with it.

A gate in CI looks at the number alone, so one number never means two things. 0 and 1 answer the question of a command
(is the contract fine, is the ledger whole, has the review been decided?); 2 says that there is no answer. 3 and 4 are
given only where a flag asks for them, by which users of trace contracts tell violations from drift. What fails in
accord itself has the number that BSD's `sysexits` gives to such failures, which no gate takes for a finding.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Self

__all__ = ["ExitStatus"]


class ExitStatus(IntEnum):
    """A status, and what it says."""

    meaning: str

    def __new__(cls, number: int, meaning: str) -> Self:
        """A number with its meaning."""
        status = int.__new__(cls, number)
        status._value_ = number
        status.meaning = meaning
        return status

    FINE = 0, "all is well: it was done, and nothing was found"
    FINDINGS = 1, "the answer is no: errors in a contract, violations, drift, a ledger that is not whole"
    USAGE = 2, "there is no answer: wrong usage, or something that cannot be read, written or reached"
    VIOLATIONS = 3, "`trace`: new violations, with `--fail-on-trace-violations`"
    DRIFT = 4, "`trace`: drift, with `--fail-on-trace-drift`"
    INTERNAL = 70, "accord itself failed"
    INTERRUPTED = 130, "stopped by Ctrl-C"
    PIPE_CLOSED = 141, "the program that read the output has gone"
