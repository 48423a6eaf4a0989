"""Tool order: the compiled rules, run over the calls of a trace.

A trace tells what has happened. So a rule that refuses a call reports it and the call counts all the same: every rule
moves on as if it had been allowed. A rule about calls at once after each other moves to where the last calls alone
would have brought it.

A step that some run has taken before is one look-up along the links of its stage, as in a monitor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accord.language.labels import normalise
from accord.machine.events import Event
from accord.trace.violations import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.machine.rules import RuleNode
    from accord.machine.stages import Stage
    from accord.trace.boundaries import Handler, Payload
    from accord.trace.order_rules import OrderPlan
    from accord.trace.runs import Report, Run

__all__ = ["ToolOrder"]


class ToolOrder:
    """The validator of order."""

    def __init__(self, plan: OrderPlan, start_kind: str, result_kind: str, tool_key: str, report: Report) -> None:
        self.plan = plan
        self.report = report
        self._start_kind = start_kind
        self._result_kind = result_kind
        self._tool_key = tool_key
        self._stages = None if plan.contract is None else plan.contract.stages()
        self._window = plan.longest - 1
        self._waits = any(rule.kind == "eventually" for rule in plan.rules)

    def handlers(self) -> dict[str, list[Handler]]:
        """What to call for which kind of event."""
        if self._stages is None and self.plan.tools is None:
            return {}
        found: dict[str, list[Handler]] = {self._start_kind: [self.call]}
        if self.plan.results:
            found.setdefault(self._result_kind, []).append(self.result)
        return found

    def call(self, run: Run, position: int, seq: int, payload: Payload) -> None:
        """A tool is called."""
        tool = payload.get(self._tool_key)
        if type(tool) is not str or not tool:
            return
        stage: Stage | None = run.order
        if stage is None:
            stage = self._begin(run)
        if self._waits:
            run.order_at = position, seq, tool
        if self._window > 0:
            recent = run.recent
            recent.append(tool)
            if len(recent) > 2 * self._window:
                del recent[: -self._window]
        link = None if stage is None else stage.sends.get(tool)
        if link is not None:
            run.order = link[1]
        else:
            self._look(run, position, seq, tool)

    def result(self, run: Run, _position: int, _seq: int, payload: Payload) -> None:
        """A tool has answered; only what went well counts."""
        tool = payload.get(self._tool_key)
        if type(tool) is not str or payload.get("ok") is not True:
            return
        stage: Stage | None = run.order or self._begin(run)
        if stage is None:
            return
        link = stage.receives.get(tool)
        if link is not None:
            run.order = link[1]
            return
        label = normalise(tool)
        if label in self.plan.results:
            nodes, _ = stage.stages.book.advance_all(stage.rules, Event("?", label))
            run.order = stage.stages.at(stage.standing, nodes)
            if label == tool:
                stage.remember("?", label, run.order)

    def finish(self, run: Run) -> None:
        """The run is over."""
        stage: Stage | None = run.order
        if stage is None:
            return
        position, seq, tool = run.order_at
        for number, node in enumerate(stage.rules):
            if node.owes:
                self._tell(run, position, seq, number, tool)

    def open(self, run: Run) -> Iterator[int]:
        """What is owed is told at the last call."""
        stage: Stage | None = run.order
        if stage is not None and any(node.owes for node in stage.rules):
            yield run.order_at[0]

    def _begin(self, run: Run) -> Stage | None:
        run.order = None if self._stages is None else self._stages.start
        stage: Stage | None = run.order
        return stage

    def _look(self, run: Run, position: int, seq: int, tool: str) -> None:
        """A step that is taken for the first time, or refused."""
        label = normalise(tool)
        stage: Stage | None = run.order
        unknown = self.plan.tools is not None and label not in self.plan.tools
        if unknown:
            self._tell_unknown(run, position, seq, tool)
        if stage is None:
            return
        nodes, refusing = stage.stages.book.advance_all(stage.rules, Event("!", label))
        if refusing:
            after = list(nodes)
            for number in refusing:
                self._tell(run, position, seq, number, tool)
                after[number] = self._resume(run, number, nodes[number])
            nodes = tuple(after)
        run.order = stage.stages.at(stage.standing, nodes)
        if not refusing and not unknown and label == tool:
            stage.remember("!", label, run.order)

    def _resume(self, run: Run, number: int, node: RuleNode) -> RuleNode:
        """Where a rule stands after a call that it refused."""
        length = self.plan.rules[number].length
        if not length:
            return node
        machine = node.machine
        node = machine.start
        for tool in run.recent[-(length - 1) :]:
            label = normalise(tool)
            event = Event("!", label)
            if label in machine.by_label:
                node = machine.react(node, event) or node
            else:
                node = machine.advance(node, "!", "", (False,) * len(machine.patterns)) or node
        return node

    def _tell(self, run: Run, position: int, seq: int, number: int, tool: str) -> None:
        rule = self.plan.rules[number]
        context: dict[str, Any] = {"rule_name": rule.kind, **rule.facts, "rule": rule.name}
        if rule.kind != "eventually":
            context["tool"] = tool
        self.report.add(run, position, "TOOL_ORDER_VIOLATION", seq, self._start_kind, rule.text, **context)

    def _tell_unknown(self, run: Run, position: int, seq: int, tool: str) -> None:
        listed = self.plan.listed
        why = "is not among the tools that are allowed" if listed else "is in no rule and no schema"
        rule = "allowed_tools" if listed else "allow_unknown_tools"
        self.report.add(
            run, position, "TOOL_UNKNOWN", seq, self._start_kind, f"the tool {shown(tool)} {why}",
            rule_name=rule, tool=tool,
        )  # fmt: skip
