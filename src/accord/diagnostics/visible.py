"""User text made safe to show.

A label may hold terminal escapes, text that reorders what stands beside it, or nothing that can be seen. Whatever
accord prints of such text goes through `visible`, so that the reader sees what is there and the terminal does
nothing.
"""

from __future__ import annotations

import unicodedata

__all__ = ["clip", "display_width", "is_hidden", "one_line", "visible"]

# Control, format (bidi marks, zero width), surrogate, private use, line and paragraph separators.
HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def is_hidden(character: str) -> bool:
    """Whether a character changes the display instead of showing itself."""
    return not (" " <= character <= "~") and unicodedata.category(character) in HIDDEN_CATEGORIES


def _escape(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def visible(text: str) -> str:
    r"""`text` with every hidden character written as an escape.

    Example:
        >>> visible("a\x1b[31mb")
        'a\\x1b[31mb'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape(c) if is_hidden(c) else c for c in text)


def clip(text: str, width: int = 80) -> str:
    """Safe text of at most `width` characters, with an ellipsis where something was cut."""
    shown = visible(text[: width + 1])
    return shown if len(shown) <= width else shown[: width - 1] + "…"


def one_line(text: str, width: int) -> str:
    r"""Safe text in one line, where whoever wrote it may have made several.

    Example:
        >>> one_line("1 error\n  in x\x1b[2J", 80)
        '1 error in x\\x1b[2J'
    """
    return clip(" ".join(text[: 2 * width].split()), width)


def display_width(text: str) -> int:
    """How many terminal cells safe text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in {"W", "F"} else 1 for c in text
    )
