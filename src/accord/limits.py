"""Every bound accord keeps, in one frozen value.

A contract may come from anywhere, so nothing in accord grows without a bound. Passing a bound is never silent:
while a contract is compiled it is a diagnostic that names the limit; while a session runs it is a refusal.
There is no global setting: whoever wants other bounds passes another `Limits`.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DEFAULT_LIMITS", "Limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one compilation and of the sessions that run on its result.

    Example:
        >>> Limits(states=50).states
        50
    """

    source_characters: int = 8_000_000
    """Characters in one contract text."""
    nesting: int = 100_000
    """Brackets and loops open at the same time."""
    interleaving_depth: int = 32
    """Interleavings inside interleavings; 100 at the most."""
    diagnostics: int = 100
    """Errors reported for one text before the compiler stops looking."""
    states: int = 1_000_000
    """States of one compiled protocol."""
    exchanges: int = 20_000
    """Steps of one protocol between roles, with what `do` does written out."""
    configurations: int = 10_000
    """Possibilities a session may follow at the same time where interleaved parts share labels."""
    remembered_standings: int = 50_000
    """Computed places kept for reuse by all sessions of one protocol; one with many parts or rules counts as many."""
    set_members: int = 100_000
    """Values one set register may hold."""
    instances: int = 1_000_000
    """Instances of one sliced protocol or rule, finished ones included."""
    decompressed_bytes: int = 4_000_000_000
    """Bytes that one compressed file of recorded runs may unfold to."""
    search: int = 20_000
    """Possibilities looked at when searching for the shortest way to make a refused action legal."""

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ValueError(f"limit `{name}` must be a positive integer, got {value!r}")
        if self.interleaving_depth > 100:
            raise ValueError(f"limit `interleaving_depth` is 100 at the most, got {self.interleaving_depth}")


DEFAULT_LIMITS = Limits()
