"""Python code as text: literals and modules that can be saved as they are."""

from __future__ import annotations

__all__ = ["contract_literal", "module"]


def contract_literal(text: str) -> str:
    """The constant that holds a contract."""
    return f"CONTRACT = {_literal(text)}"


def _literal(text: str) -> str:
    """The text of a contract as a Python literal that people can read, where that is safe."""
    if (
        text.isascii()
        and '"""' not in text
        and not text.endswith("\\")
        and all(c.isprintable() or c == "\n" for c in text)
    ):
        return f'r"""\n{text.strip()}\n"""'
    return ascii(text)


def module(*blocks: str) -> str:
    """Blocks of code, two lines apart."""
    return "\n\n".join(block.strip("\n") for block in blocks if block) + "\n"
