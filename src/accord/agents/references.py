"""Which agent is meant: by its name, in this process or in another."""

from __future__ import annotations

from dataclasses import dataclass

from accord.stores.record import check_name

__all__ = ["AgentRef"]


@dataclass(frozen=True, slots=True)
class AgentRef:
    """An agent, by the name it was added to a supervisor with. `Supervisor.add` gives one."""

    name: str

    def __post_init__(self) -> None:
        check_name(self.name, "the name of an agent")
