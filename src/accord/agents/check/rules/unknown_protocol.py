"""E070: a protocol that is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.agents.check.missteps import Misstep, listed
from accord.diagnostics import did_you_mean
from accord.diagnostics.agent_codes import UNKNOWN_PROTOCOL

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "missing_protocol",
    "mistaken_protocol",
    "no_such_protocol",
    "not_one_protocol",
    "undefined_protocol",
    "unreadable_contract",
]


def no_such_protocol(name: str, known: Sequence[str], *, by_name: bool) -> Misstep:
    """A name that no contract declares; a text that is a bare name declares nothing either."""
    meant = name if name in known else did_you_mean(name, known)
    if by_name:
        help_ = "a text is a contract; for the one in a file write `accord.load(path)`"
        if meant:
            help_ += f'["{meant}"]'
    else:
        help_ = (
            f"did you mean `{meant}`?" if meant else f"the contract declares {listed(known, 'and')}" if known else ""
        )
    return Misstep(UNKNOWN_PROTOCOL, f"unknown protocol `{name}`", help_, "not declared")


def undefined_protocol(name: str, around: Sequence[str], known: Sequence[str]) -> Misstep:
    """A name in the code that nothing defines; `around` are those that stand for contracts where it is used."""
    meant = did_you_mean(name, around)
    declared = name if name in known else did_you_mean(name, known)
    if meant:
        help_ = f"did you mean `{meant}`?"
    elif declared:
        help_ = f'did you mean protocol `{declared}`? take it from its contract: `contract["{declared}"]`'
    else:
        help_ = "import it, or give it the text of a contract or what `accord.load(path)` makes of a file"
    return Misstep(UNKNOWN_PROTOCOL, f"unknown protocol `{name}`: nothing defines this name", help_, "not defined")


def missing_protocol() -> Misstep:
    """`@follows()`."""
    return Misstep(UNKNOWN_PROTOCOL, "which protocol is followed is not said", 'write `@follows(protocol, as_="Role")`')


def not_one_protocol(names: Sequence[str]) -> Misstep:
    """A contract that has several, or none between roles."""
    if names:
        return Misstep(
            UNKNOWN_PROTOCOL, "the contract has several protocols", f'take one of them: `contract["{names[0]}"]`'
        )
    what = "the contract has no protocol between roles"
    return Misstep(UNKNOWN_PROTOCOL, what, "write `protocol Name { A -> B: Message }`")


def unreadable_contract(path: str, why: str) -> Misstep:
    """A contract file that is not there."""
    return Misstep(
        UNKNOWN_PROTOCOL,
        f"the contract `{path}` cannot be read: {why}",
        "the path is looked up from here and beside the file",
    )


def mistaken_protocol(what: str, help_: str) -> Misstep:
    """A path where a text is meant, or the other way round."""
    return Misstep(UNKNOWN_PROTOCOL, what, help_)
