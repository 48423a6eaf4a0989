"""E085: a loop without a way out, in which a partner waits for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.agents.check.missteps import Misstep, listed
from accord.diagnostics.agent_codes import STARVING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from accord.agents.check.paths import Trap
    from accord.agents.check.scripts import Script

__all__ = ["starving"]


def starving(trap: Trap, scripts: Sequence[Script]) -> Iterator[Misstep]:
    """Whoever still has something to do with this role, and hears nothing of it in the loop."""
    for part, script in enumerate(scripts):
        states = {c.state for world in trap.worlds for c, _ in world.conversations() if c.part == part}
        states = {state for state in states if not script.is_over(state)}
        waiting = sorted({partner for state in states for partner in script.partners_ahead(state)})
        heard = {partner for number, partner in trap.partners if number == part}
        starved = [partner for partner in waiting if partner not in heard]
        if starved:
            message = (
                f"this loop never ends, and {listed(starved, 'and')} of `{script.protocol}` waits for `{script.role}`"
            )
            yield Misstep(
                STARVING, message, "leave the loop, by `break` or `return`, when the partner is due", "for ever"
            )
            return
