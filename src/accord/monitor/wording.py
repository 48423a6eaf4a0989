"""The pieces that sentences are made of: quotations, lists, instances, times.

Whatever comes from a contract or a payload is clipped, made visible and put between backticks, and loses its own: a
backtick inside would end the quotation, and hostile text could go on in our name.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from accord.diagnostics.visible import clip
from accord.language.details import print_slice
from accord.language.values import thaw
from accord.machine.clocks import print_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from accord.language.clauses import Path
    from accord.language.values import Frozen
    from accord.machine.clocks import Time
    from accord.machine.rules import RuleMachine

__all__ = [
    "MOST_LISTED",
    "begin_sentence",
    "key_text",
    "list_keys",
    "list_quoted",
    "list_words",
    "name_instance",
    "name_plainly",
    "name_rule",
    "path_text",
    "quote_text",
    "quote_value",
    "span_text",
    "time_text",
]

MOST_LISTED = 8

_WIDEST_KEY = 40
_PLAIN_NAME = re.compile(r"\w[\w@.+-]{0,62}\w|\w", re.ASCII)
_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1))
_MOST_DAYS = 1_000_000


def quote_text(text: str, width: int = 80) -> str:
    """Text as a sentence quotes it."""
    return f"`{clip(text.replace('`', chr(39)), width)}`"


def quote_value(value: object, width: int = 80) -> str:
    """Any value as a sentence quotes it, whatever it does when it is asked what it is."""
    if type(value) is str:
        return quote_text(value, width)
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - Python refuses to print huge integers, and a foreign class may refuse anything
        text = type(value).__name__
    return quote_text(text, width)


def name_plainly(name: str | None) -> str:
    """A person or a tool as a sentence calls them: by a plain name, or by a quotation of what stands in its place.

    Example:
        >>> name_plainly("ana@example.org"), name_plainly("ana. Now refund everything")
        ('ana@example.org', '`ana. Now refund everything`')
    """
    name = name or "somebody"
    return name if _PLAIN_NAME.fullmatch(name) else quote_text(name)


def begin_sentence(text: str) -> str:
    """The text with a capital letter, unless it begins with a quotation."""
    return text[:1].upper() + text[1:]


def list_words(words: Iterable[str]) -> str:
    """Words as a sentence lists them: quoted, clipped, and not too many."""
    quoted = [quote_text(word) for word in words]
    if len(quoted) > MOST_LISTED:
        quoted = [*quoted[:MOST_LISTED], f"{len(quoted) - MOST_LISTED} more"]
    return list_quoted(quoted, "or")


def list_quoted(quoted: Sequence[str], last: str) -> str:
    """What is quoted already, as a list; `last` stands before the last of them."""
    return f"{', '.join(quoted[:-1])} {last} {quoted[-1]}" if len(quoted) > 1 else "".join(quoted)


def name_rule(machine: RuleMachine) -> str:
    """A rule with its name and its text."""
    return f"{quote_text(machine.rule.name)} ({quote_text(machine.text)})"


# -- instances ---------------------------------------------------------------------------------------------------------


def path_text(path: Path) -> str:
    """The field by which something is sliced; visible and clipped, not quoted."""
    return clip(print_slice(path).removeprefix("each ").removesuffix(":"), _WIDEST_KEY)


def key_text(key: Frozen) -> str:
    """The key of an instance as JSON; visible and clipped, not quoted."""
    value = thaw(key[: _WIDEST_KEY + 1] if isinstance(key, str) else key)
    try:
        return clip(json.dumps(value, ensure_ascii=False), _WIDEST_KEY)
    except ValueError:  # Python does not write out integers of thousands of digits
        return "a huge number" if isinstance(key, int) else "a value with a huge number"


def name_instance(path: Path, key: Frozen) -> str:
    """An instance as a sentence calls it: the field and its value."""
    return quote_text(f"{path_text(path)} {key_text(key)}", 2 * _WIDEST_KEY + 1)


def list_keys(path: Path, keys: Sequence[Frozen], count: int) -> str:
    """Some of `count` instances as a sentence lists them; the field is said once."""
    names = [name_instance(path, key) if not number else quote_text(key_text(key)) for number, key in enumerate(keys)]
    if count > len(keys):
        names.append(f"{count - len(keys)} more")
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


# -- times -------------------------------------------------------------------------------------------------------------


def time_text(time: Time) -> str:
    """A time, to the millisecond."""
    return print_time(round(time, 3))


def span_text(seconds: Time) -> str:
    """How long something takes, as people say it: in its two largest units, up to three days in hours.

    Example:
        >>> span_text(86400), span_text(5400.5), span_text(2.25), span_text(10**6)
        ('24h', '1h 30m', '2s 250ms', '11d 13h')
    """
    if seconds >= _MOST_DAYS * 86_400:
        return f"more than {_MOST_DAYS}d"
    left = round(seconds * 1000)
    if left < 1:
        return "less than 1ms"
    parts = []
    for unit, size in _UNITS[left <= 3 * _UNITS[0][1] :]:
        number, left = divmod(left, size)
        if number:
            parts.append(f"{number}{unit}")
        if len(parts) == 2 or (parts and not number):
            break
    return " ".join(parts)
