"""Trajectories of typed records, a run per file: `user`, `agent_text`, `agent_tool_call`, `tool_result` and others.

There are no ids, so results answer calls by name and order. What a monitor of the time had to say is no message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.sources.mapping import KindOf, Mapping, mapped_reader

if TYPE_CHECKING:
    from accord.sources.sketch import Sketch

__all__ = ["TRAJECTORIES"]

_TYPE = ("type",)
_MAPPING = Mapping(
    kinds=(
        KindOf("user", ((_TYPE, ("user",)),), body=("content",)),
        KindOf("agent", ((_TYPE, ("agent_text",)),), body=("content",)),
        KindOf("call", ((_TYPE, ("agent_tool_call",)),), name=("name",), body=("args",)),
        KindOf("result", ((_TYPE, ("tool_result",)),), name=("name",), body=("content",)),
    ),
    key=(("task_id",), ("trial",)),
    metadata={"model": ("model",), "task": ("task_id",), "trial": ("trial",), "outcome": ("outcome",)},
)


def _recognises(sketch: Sketch) -> bool:
    return bool({"agent_tool_call", "agent_text"} & sketch.types)


TRAJECTORIES = mapped_reader(_MAPPING, "trajectory", _recognises)
