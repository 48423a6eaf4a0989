"""Moving about a page by keys alone, as somebody does who waits until the page has answered."""

from __future__ import annotations

import pytest

from tests.browser.resting import rest

IS_THERE = """
([selector, text]) => document.activeElement.matches(selector) && document.activeElement.textContent.includes(text)
"""


def tab_to(page, selector: str, text: str = "") -> None:
    """Press Tab until something of that kind has the focus."""
    for _ in range(60):
        rest(page)  # what is drawn anew may lose the focus
        if page.evaluate(IS_THERE, [selector, text]):
            return
        page.keyboard.press("Tab")
    pytest.fail(f"{selector} {text} cannot be reached by keyboard")
