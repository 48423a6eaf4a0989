"""`Recording`: attempts of one session, each in the ledger before it is answered.

Each attempt runs under a lock: ask what the answer would be, write attempt and answer, take the step, answer. So an
answer that somebody acted on is always in the ledger. The other way round is not promised: a program that dies between
writing and answering leaves an entry whose answer nobody saw.

If the ledger cannot be written the answer is `Blocked` and the session has not moved.
"""

from __future__ import annotations

import secrets
from threading import RLock
from typing import TYPE_CHECKING

from accord.errors import UsageError
from accord.ledger.attempts import check, describe, why
from accord.monitor import Blocked
from accord.monitor.verdicts import OK
from accord.turns import check_turn

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.ledger.attempts import Given
    from accord.ledger.ledger import Ledger
    from accord.machine.contract import Contract
    from accord.monitor import Verdict

__all__ = ["Recording"]


class Recording:
    """What is written of one session of a protocol; `session` names it, or a name is drawn at random."""

    __slots__ = ("_contract", "_lock", "_protocol", "ledger", "session")

    def __init__(self, ledger: Ledger, session: str | None, contract: Contract, protocol: str | None) -> None:
        if session is not None and (type(session) is not str or not session):
            raise UsageError(f"a session is named by a non-empty `str`, got {session!r}")
        self.ledger = ledger
        self.session = secrets.token_hex(8) if session is None else session
        self._contract = contract
        self._protocol = protocol
        self._lock = RLock()

    def attempt(self, given: Given, peek: Callable[[], Verdict], take: Callable[[], Verdict]) -> Verdict:
        """The answer to an attempt: `peek` says what it would be, `take` takes the step."""
        check_turn(self._lock)
        with self._lock:
            answer: Verdict | UsageError
            try:
                check(given)
                answer = peek()
            except UsageError as error:
                answer = error
            except Exception as error:  # noqa: BLE001 - whatever broke inside, the answer is no
                broken = Blocked(f"accord failed inside ({error!r})")
                return self._write(given, broken) or broken
            refused = self._write(given, answer)
            if refused is not None:
                return refused
            if isinstance(answer, UsageError):
                raise answer
            taken = take()
            if taken != answer:  # somebody moved the session past us; what is answered is recorded all the same
                return self._write(given, taken) or taken
            return taken

    def note(self, what: str, detail: dict[str, object]) -> Verdict:
        """Write down what is no attempt; `Blocked` if that cannot be done."""
        check_turn(self._lock)
        with self._lock:
            try:
                self.ledger.note(self.session, self._contract.digest, self._protocol, what, detail)
            except Exception as error:  # noqa: BLE001 - as below
                return Blocked(f"the ledger cannot be written ({why(error)})")
            return OK

    def _write(self, given: Given, answer: Verdict | UsageError) -> Blocked | None:
        """Write it; if that fails, the answer that must be given instead."""
        try:
            self.ledger.append(describe(given, answer, self.session, self._contract, self._protocol))
        except Exception as error:  # noqa: BLE001 - what is not recorded is not done, whatever the reason
            return Blocked(f"the ledger cannot be written ({why(error)})")
        return None
