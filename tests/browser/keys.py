"""Moving about a page by keys alone, as somebody does who waits until the page has answered."""

from __future__ import annotations

import pytest

# Counts what the page is waiting for; what it does with an answer is done when the count goes down.
COUNTING = """
(() => {
  const ask = window.fetch;
  window.waitingFor = 0;
  window.fetch = (...given) => {
    window.waitingFor += 1;
    return ask(...given).finally(() => setTimeout(() => { window.waitingFor -= 1; }, 100));
  };
})()
"""

IS_THERE = """
([selector, text]) => document.activeElement.matches(selector) && document.activeElement.textContent.includes(text)
"""


def wait_for_answers(page) -> None:
    """Wait until the page waits for nothing: what is drawn anew may lose the focus."""
    page.wait_for_function("() => !window.waitingFor")


def tab_to(page, selector: str, text: str = "") -> None:
    """Press Tab until something of that kind has the focus."""
    for _ in range(60):
        wait_for_answers(page)
        if page.evaluate(IS_THERE, [selector, text]):
            return
        page.keyboard.press("Tab")
    pytest.fail(f"{selector} {text} cannot be reached by keyboard")
