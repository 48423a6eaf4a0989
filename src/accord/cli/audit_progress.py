"""How far an audit is: a bar with rate and remaining time, where somebody is looking."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from rich.progress import Progress as Bar

    from accord.audit.local import Done
    from accord.audit.plan import Plan

__all__ = ["Progress"]


class Progress:
    """A bar on standard error if that is a terminal, else nothing."""

    def __init__(self) -> None:
        self._bar: Bar | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def watch(self, plan: Plan) -> Callable[[Done], None]:
        """Begin; returns what is to be told of each finished file."""
        if not sys.stderr.isatty():
            return lambda _done: None
        from rich import progress
        from rich.console import Console

        bar = self._bar = progress.Progress(
            progress.TextColumn("{task.completed:,.0f} of {task.total:,.0f} files", style="dim"),
            progress.BarColumn(),
            progress.TextColumn("{task.fields[rate]}", style="dim"),
            progress.TimeElapsedColumn(),
            progress.TextColumn("left", style="dim"),
            progress.TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        # Time is told by bytes, which is what work is made of; people count files.
        total = max(1, plan.size)
        sizes = {task.number: task.size for task in plan.files}
        task = bar.add_task("", total=len(plan.files), rate="")
        read = 0

        def told(done: Done) -> None:
            nonlocal read
            read += sizes[done.number]
            elapsed = bar.tasks[0].elapsed or 0
            rate = f"{read / elapsed / 1e6:,.0f} MB/s, {100 * read // total} %" if elapsed else ""
            bar.update(task, advance=1, rate=rate)

        bar.start()
        return told
