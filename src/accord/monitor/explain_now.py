"""What may happen instead of what was refused: what the agent may do, and what it can only wait for.

Nothing is said where it would only repeat: that the first step of a way is allowed, or that what was refused for its
data is allowed with other data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.machine.slices import NoKey
from accord.machine.standing import OpenStanding
from accord.monitor.explain_time import deadline_of, until
from accord.monitor.vocabulary import join_options
from accord.monitor.wording import begin_sentence, list_quoted, name_instance, path_text, quote_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from accord.machine.paths import Way
    from accord.machine.tables import Symbol
    from accord.monitor.refusals import Refusal
    from accord.monitor.vocabulary import Vocabulary

__all__ = ["anew", "explain_now", "instance_of", "list_options", "tell_now"]

_MOST_OPTIONS = 5


def instance_of(refusal: Refusal) -> str:
    """The event's instance of a sliced protocol; empty if there is none."""
    sliced, key = refusal.stage.stages.sliced, refusal.belongs.protocol
    return "" if sliced is None or isinstance(key, NoKey) else name_instance(sliced.path, key)


def explain_now(refusal: Refusal, way: Way = ()) -> str:
    """What may happen now, as a sentence with a space before it; `way` is what was said before."""
    sliced = refusal.stage.stages.sliced
    if sliced is None and isinstance(refusal.stage.standing, OpenStanding):
        return ""
    symbols = refusal.options
    instance = instance_of(refusal)
    about = f" for {instance}" if instance else ""
    if refusal.is_full and sliced is not None and refusal.extent is not None and refusal.extent.course is not None:
        symbols = refusal.stage.open_of(sliced.under_way(refusal.extent.course))
        about = " for those that are known"
    event = refusal.event
    shown = [symbol for symbol in symbols if event is None or symbol.label != event.label]
    left_out = [symbol for symbol in symbols if symbol not in shown]
    first = way[0] if way else None
    if left_out and first is None:  # to be approved is nothing that can be done instead
        shown = [symbol for symbol in shown if not symbol.gated]
    mine = refusal.vocabulary.is_mine
    others = [one for one in shown if one != first and mine(one.direction, one.label)]
    # An instance that has not begun has no clock yet.
    timed = not refusal.is_new
    if first is not None and not others:
        return deadline_of(refusal.standing, refusal.now, first) if timed else ""
    if left_out and not shown:
        return deadline_of(refusal.standing, refusal.now, left_out[0]) if timed else ""
    due = until(refusal.vocabulary, refusal.standing, refusal.now, shown) if timed else ""
    # What was refused for its data is allowed too, with other data.
    now = "otherwise" if left_out and first is None else "now"
    return f" {_sentence(refusal.vocabulary, shown, f'{now}{about}', due, complete=refusal.complete)}"


def tell_now(vocabulary: Vocabulary, words: Collection[str], *, complete: bool) -> str:
    """What may happen in a session, as a sentence; `words` are those of its protocol that are legal."""
    symbols = [symbol for symbol in vocabulary.machine.symbols if symbol.word in words]
    return _sentence(vocabulary, symbols, "now", "", complete=complete)


def _sentence(vocabulary: Vocabulary, symbols: Sequence[Symbol], now: str, due: str, *, complete: bool) -> str:
    if not symbols:
        return f"Nothing {'else is allowed now; you may only finish' if complete else 'is allowed now'}{due}."
    mine, others = tell_options(vocabulary, symbols)
    parts = [f"Allowed {now}: {mine}"] if mine else []
    parts += [others if mine else f"{begin_sentence(now)} {others}"] if others else []
    parts += ["finish"] if complete else []
    return f"{', or '.join(parts)}{due}."


def tell_options(vocabulary: Vocabulary, symbols: Iterable[Symbol]) -> tuple[str, str]:
    """What the agent can do, as a list, and what others have to, as things to do."""
    ordered = sorted(symbols, key=lambda symbol: symbol.word)
    own = [vocabulary.is_mine(symbol.direction, symbol.label) for symbol in ordered]
    mine = [vocabulary.option(symbol) for symbol, is_own in zip(ordered, own, strict=True) if is_own]
    others = [vocabulary.do(symbol) for symbol, is_own in zip(ordered, own, strict=True) if not is_own]
    left_out = len(others) - _MOST_OPTIONS
    waiting = join_options(others[:_MOST_OPTIONS]) + (f", or {left_out} more" if left_out > 0 else "")
    return list_options(mine), waiting


def list_options(names: Iterable[str]) -> str:
    """Names that are quoted already, each once, a handful at the most."""
    shown = list(dict.fromkeys(names))
    if len(shown) > _MOST_OPTIONS:
        shown = [*shown[:_MOST_OPTIONS], f"{len(shown) - _MOST_OPTIONS} more"]
    return list_quoted(shown, "or")


def anew(refusal: Refusal) -> str:
    """What can happen with a new key."""
    sliced = refusal.stage.stages.sliced
    if sliced is None:
        return ""
    mine, others = tell_options(refusal.vocabulary, refusal.stage.open_of(sliced.standings.start.symbols))
    field = quote_text(path_text(sliced.path))
    told = ", or ".join(part for part in (f"allowed is {mine}" if mine else "", others) if part)
    return f" With a new {field}, {told}." if told else ""
