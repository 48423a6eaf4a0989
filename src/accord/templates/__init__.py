"""Contracts to begin with, each with a page that explains it.

A template is two files in this folder: `NAME.accord`, which compiles as it stands, and `NAME.md`, whose first heading
is its title and whose first paragraph says what it is for. The page shows a run that keeps to the contract and one that
does not, with the explanation that the second one gets.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from accord.diagnostics import did_you_mean
from accord.errors import UsageError

__all__ = ["Template", "template", "template_names", "templates"]

_RUN = re.compile(r"^```run\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Template:
    """A contract to begin with: its text, and the page about it in Markdown."""

    name: str
    text: str
    page: str

    @property
    def title(self) -> str:
        """The heading of its page."""
        return self.page.partition("\n")[0].removeprefix("# ")

    @property
    def summary(self) -> str:
        """The first paragraph of its page."""
        return self.page.split("\n\n", 2)[1]

    @property
    def runs(self) -> tuple[str, str]:
        """The events of the run that keeps to it, and of the one that does not."""
        good, bad = _RUN.findall(self.page)
        return good, bad


@cache
def template_names() -> tuple[str, ...]:
    """The names of all templates, sorted."""
    found = [entry.name for entry in files(__name__).iterdir()]
    return tuple(sorted(name.removesuffix(".accord") for name in found if name.endswith(".accord")))


def template(name: str) -> Template:
    """The template of that name.

    Raises `UsageError` if there is none.

    Example:
        >>> template("booking").summary
        'Search, show, ask, and only then book.'
    """
    if name not in template_names():
        meant = did_you_mean(name, template_names())
        hint = f"did you mean `{meant}`?" if meant else "`accord new` lists all"
        raise UsageError(f"there is no template `{name}`; {hint}")
    folder = files(__name__)
    return Template(name, *((folder / f"{name}.{kind}").read_text(encoding="utf-8") for kind in ("accord", "md")))


def templates() -> tuple[Template, ...]:
    """All of them, sorted by name."""
    return tuple(template(name) for name in template_names())
