"""What a graph's state has for us: five keys, of which callers see one and can write none.

`<name>_session` holds the session, written by one node at a time. `<name>_returns` holds what became of calls that run
side by side, each in a task of its own: they only add to it, by a reducer, and the next hook takes everything off
again. `<name>_paused` says that a turn rests so that people can be asked about what is kept already. `<name>` is a
report for whoever reads the result; nobody here ever reads it.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, NotRequired, TypedDict, cast, get_type_hints

from langchain.agents.middleware.types import AgentState, OmitFromInput, PrivateStateAttr

from accord.errors import UsageError
from accord.monitor.wording import quote_text

__all__ = ["TAKEN", "UNNAMED", "Keys", "ProtocolState", "make_schema", "node_name", "protocol_keys"]

TAKEN: list[str | None] = [None]
"""The update that takes everything off the list of returns."""


class Keys(NamedTuple):
    """The names of our keys."""

    session: str
    returns: str
    proposed: str
    paused: str
    report: str

    @classmethod
    def named(cls, name: str) -> Keys:
        """The keys of a middleware of that name; `UsageError` if it cannot be called so."""
        if not isinstance(name, str) or not name.isidentifier():
            raise UsageError(f"the name of a middleware is an identifier, got {name!r}")
        if name in get_type_hints(AgentState):
            raise UsageError(f"{quote_text(name)} is a key that every agent has; give the middleware another name")
        return cls(f"{name}_session", f"{name}_returns", f"{name}_proposed", f"{name}_paused", name)


def node_name(kind: str, name: str, default: str) -> str:
    """What the nodes of a middleware are called by: its kind alone, if it has the name that it is given by default."""
    return kind if name == default else f"{kind}.{name}"


UNNAMED = Keys.named("accord")
"""Those of the one contract of an agent that needs no name."""


def protocol_keys(state: str, trace: str) -> dict[str, Any]:
    """What a state machine shows beside that, by the names of its keys."""
    return {
        state: NotRequired[Annotated[str, OmitFromInput]],
        trace: NotRequired[Annotated[list[str], OmitFromInput]],
    }


def add_returns(there: list[Any] | None, more: object) -> list[Any]:
    """The reducer: what is added comes behind what is there, unless it says that everything was taken.

    Whatever somebody else puts there is kept as it is: it will not have the right seal.
    """
    added = more if isinstance(more, list) else [more]
    if added[:1] == TAKEN:
        return added[1:]
    return [*(there or []), *added]


def make_schema(keys: Keys, more: dict[str, Any] | None = None) -> type[AgentState[Any]]:
    """The part of a graph's state that is ours; the reducer has to stand last."""
    fields = {
        keys.session: NotRequired[Annotated[str, PrivateStateAttr]],
        keys.returns: NotRequired[Annotated[list[Any], PrivateStateAttr, add_returns]],
        keys.proposed: NotRequired[Annotated[str | None, PrivateStateAttr]],
        keys.paused: NotRequired[Annotated[bool, PrivateStateAttr]],
        keys.report: NotRequired[Annotated[dict[str, Any], OmitFromInput]],
        **(more or {}),
    }
    return cast("type[AgentState[Any]]", TypedDict("AccordState", fields))  # type: ignore[operator] # made of names


class ProtocolState(AgentState[Any]):
    """The state of an agent whose protocol is a state machine, for whoever annotates its result."""

    fsm_state: NotRequired[Annotated[str, OmitFromInput]]
    fsm_trace: NotRequired[Annotated[list[str], OmitFromInput]]
