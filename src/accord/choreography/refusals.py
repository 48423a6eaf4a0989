"""Why a protocol between roles is refused, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import Diagnostic, Note
from accord.diagnostics.visible import clip
from accord.language.global_printer import print_exchange
from accord.language.labels import print_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accord.choreography.implementability import Doubt
    from accord.choreography.running import Stuck
    from accord.choreography.tables import GlobalMachine, Message, Node
    from accord.choreography.witnesses import Witness
    from accord.diagnostics import Source
    from accord.language.global_tree import GlobalProtocol

__all__ = ["not_decided", "refused", "stuck"]

_LONGEST_RUN = 12


def refused(
    doubt: Doubt, witness: Witness | None, machine: GlobalMachine, protocol: GlobalProtocol, source: Source
) -> Diagnostic:
    """The role that cannot know, with the two shortest runs that look alike to it."""
    role = doubt.role
    sender, receiver, label = machine.messages[doubt.message]
    what = print_label(label)
    if doubt.kind == "send":
        message = f"`{role}` cannot know whether to send `{what}` to `{receiver}`"
        help_ = f"let somebody tell `{role}` which branch was taken, in every branch, before it sends"
    elif doubt.kind == "receive":
        other = _message(machine, doubt.other)
        first, second = f"`{print_label(other[2])}` from `{other[0]}`", f"`{what}` from `{sender}`"
        message = f"`{role}` cannot know whether {first} or {second} comes first"
        help_ = f"let one role tell `{role}` what to expect, or let the later sender wait for the earlier one"
    else:
        other = _message(machine, doubt.other)
        waits = f"wait for `{print_label(other[2])}` from `{other[0]}`"
        message = f"`{role}` cannot know whether to send `{what}` to `{receiver}` or to {waits}"
        help_ = f"let `{other[0]}` tell `{role}` in every branch, or decide the choice at `{role}`"
    if witness is None:
        return Diagnostic("E036", message, source, protocol.name_span, help=help_)
    left = _run(machine, witness.left)
    right = _run(machine, witness.right)
    notes = tuple(
        Note(machine.nodes[node].span, text)
        for node, text in _where_they_part(witness, role)
        if machine.nodes[node].span != machine.nodes[witness.left[-1]].span
    )
    seen = [machine.messages[machine.nodes[n].message] for n in witness.left[: witness.seen_left]]
    sees = ", ".join(f"`{_word(role, m)}`" for m in seen if role in m[:2]) or "nothing"
    alike = f"two runs look alike to `{role}`, which sees {sees} in both: {left} / {right}"
    return Diagnostic(
        "E036",
        f"{message}; {alike}",
        source,
        machine.nodes[witness.left[-1]].span,
        label="does it come to this?",
        help=help_,
        notes=notes,
    )


def stuck(ending: Stuck, protocol: GlobalProtocol, source: Source) -> Diagnostic:
    """The shortest way in which the roles get stuck."""
    told = [
        f"`{role}` waits for {' or '.join(f'`{clip(word, 60)}`' for word in words[:3])}"
        for role, words in ending.waiting
    ]
    told += [
        f"`{print_label(label)}` from `{sender}` is never received by `{receiver}`"
        for sender, receiver, label in ending.left
    ]
    run = ", ".join(ending.run[-_LONGEST_RUN:]) or "at once"
    what = "deadlock" if ending.waiting else "message left behind"
    message = f"{what}: {run}; then {', '.join(told[:6])}"
    help_ = "the roles follow what each of them sees; let them tell each other what the others need to know"
    return Diagnostic("E037", message, source, protocol.name_span, help=help_)


def not_decided(
    protocol: GlobalProtocol,
    source: Source,
    reason: str,
    message: Message | None = None,
    nodes: Sequence[Node] = (),
) -> Diagnostic:
    """Nothing wrong was found, and nothing was proved either."""
    if message is None:
        text = f"`{protocol.name}` is not decided: {reason}"
        return Diagnostic("E038", text, source, protocol.name_span, help="make it smaller, or pass larger `Limits`")
    text = f"`{protocol.name}` is not decided: two parts of `par` send from `{message[0]}` to `{message[1]}`"
    help_ = "let only one part use each channel, or put the messages in one order"
    notes = (Note(nodes[0].span, "the same channel"),)
    return Diagnostic("E038", text, source, nodes[1].span, help=help_, notes=notes)


def _message(machine: GlobalMachine, number: int | None) -> Message:
    return machine.messages[number or 0]


def _word(role: str, message: Message) -> str:
    sender, receiver, label = message
    return f"{receiver}!{print_label(label)}" if sender == role else f"{sender}?{print_label(label)}"


def _run(machine: GlobalMachine, nodes: tuple[int, ...]) -> str:
    texts = [print_exchange(*machine.messages[machine.nodes[node].message]) for node in nodes]
    shown = texts if len(texts) <= _LONGEST_RUN else ["…", *texts[-_LONGEST_RUN:]]
    return f"`{clip('; '.join(shown), 400)}`" if texts else "nothing happens"


def _where_they_part(witness: Witness, role: str) -> list[tuple[int, str]]:
    """The first place at which the two runs differ, in each."""
    for one, other in zip(witness.left, witness.right, strict=False):
        if one != other:
            return [(one, f"in one run this happens, and `{role}` does not see it"), (other, "in the other one this")]
    longer = witness.left if len(witness.left) > len(witness.right) else witness.right
    return [(longer[min(len(witness.left), len(witness.right))], "only in one of the runs")]
