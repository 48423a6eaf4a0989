"""Recorded runs that tests write themselves, and audits of them."""

from __future__ import annotations

import json

CONFIRM = """
events {
    Yes when user says matches "(?i)yes"
    Pay when call pay
    ignore when agent says "thanks"
}
rule "confirm first" { before each Pay require Yes }
rule "never after closing" { after Closed forbid Pay }
"""


def chat(*turns: str) -> list[dict]:
    """Messages of a chat: `user: text`, `agent: text`, `call name {…}`, `result: text`."""
    messages, number = [], 0
    for turn in turns:
        if turn.startswith("call "):
            number += 1
            _, name, *rest = turn.split(" ", 2)
            function = {"name": name, "arguments": rest[0] if rest else "{}"}
            call = {"id": f"c{number}", "type": "function", "function": function}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        elif turn.startswith("result: "):
            messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": turn.removeprefix("result: ")})
        else:
            who, _, text = turn.partition(": ")
            messages.append({"role": "user" if who == "user" else "assistant", "content": text})
    return messages


FINE = chat("user: pay please", "agent: sure?", "user: Yes", "call pay", "result: paid", "agent: thanks")
HASTY = chat("user: pay please", "call pay", "result: paid")
TWICE = chat("user: yes", "call pay", "result: paid", "call pay", "result: paid")


def write_tau(path, runs, rewards=None) -> None:
    """A file of tau-bench."""
    rewards = rewards or [1.0] * len(runs)
    rows = [
        {"task_id": number, "trial": 0, "reward": reward, "traj": run, "info": {}}
        for number, (run, reward) in enumerate(zip(runs, rewards, strict=True))
    ]
    path.write_text(json.dumps(rows))
