"""All formats, in the order in which they are tried, and the way from a file to its runs.

A format that has names of its own stands in front of one that could be taken for it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from accord.diagnostics import did_you_mean
from accord.errors import UsageError
from accord.limits import DEFAULT_LIMITS, Limits
from accord.sources.agentdojo import AGENTDOJO
from accord.sources.anthropic import ANTHROPIC
from accord.sources.chat import CHAT
from accord.sources.files import DamagedFileError, begun, open_file
from accord.sources.labelled import CSV, PARQUET
from accord.sources.langfuse_exports import LANGFUSE
from accord.sources.langsmith import LANGSMITH
from accord.sources.mapping_files import is_mapping_file, load_mapping
from accord.sources.model import Broken
from accord.sources.otlp import OTLP
from accord.sources.recorded_traces import TRACES
from accord.sources.responses import RESPONSES
from accord.sources.sessions import SESSIONS
from accord.sources.sketch import BOM, sketch
from accord.sources.span_lists import OPENINFERENCE, OTEL_SPANS
from accord.sources.tau import TAU
from accord.sources.tau2 import TAU2
from accord.sources.trajectories import TRAJECTORIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.sources.model import Run
    from accord.sources.reader import Read, Reader

__all__ = ["READERS", "detect", "read_runs", "reader_named"]

READERS: tuple[Reader, ...] = (
    PARQUET,
    TAU,
    TAU2,
    AGENTDOJO,
    TRAJECTORIES,
    TRACES,
    SESSIONS,
    OTLP,
    LANGFUSE,
    LANGSMITH,
    OPENINFERENCE,
    OTEL_SPANS,
    RESPONSES,
    ANTHROPIC,
    CHAT,
    CSV,
)

# How much of a file is looked at to tell what it is: a little first, then more.
_HEADS = (1 << 14, 1 << 20)


def reader_named(name: str) -> Reader:
    """The reader of a format, or of what a mapping in a YAML file of that name describes."""
    if is_mapping_file(name):
        return load_mapping(Path(name))
    for reader in READERS:
        if reader.name == name:
            return reader
    names = [reader.name for reader in READERS]
    meant = did_you_mean(name, names)
    hint = f"did you mean `{meant}`?" if meant else f"it is one of {', '.join(f'`{known}`' for known in names)}"
    raise UsageError(f"no format is called `{name}`; {hint}")


def detect(head: bytes) -> Reader | None:
    """The reader of a file that begins so."""
    looks = sketch(head)
    return next((reader for reader in READERS if reader.recognises(looks)), None)


def read_runs(
    path: str, reader: Reader | None = None, limits: Limits = DEFAULT_LIMITS, *, outputs: bool = True
) -> Iterator[Run | Broken]:
    """The runs of a file, and what of it cannot be read. Without a reader, the file's content tells which it is.

    Without `outputs`, what tools returned may be left out: whoever does not look at it is served faster.

    Raises `UsageError` if the file cannot be opened.
    """
    with open_file(path, limits) as file:
        try:
            if reader is not None:
                yield from _read_by(reader, outputs=outputs)(file, path)
                return
            stream, head = begun(file, _HEADS[0])
            reader = detect(head)
            if reader is None and len(head) == _HEADS[0]:
                stream, head = begun(stream, _HEADS[1])
                reader = detect(head)
            if reader is not None:
                yield from _read_by(reader, outputs=outputs)(stream, path)
            elif head.removeprefix(BOM).strip() not in {b"", b"[]"}:
                yield Broken(
                    path, None, "no format is recognised; say which it is (`--source`), or describe it by a mapping"
                )
        except DamagedFileError as error:
            yield Broken(path, None, str(error))
        except OSError as error:
            yield Broken(path, None, f"reading failed: {error.strerror or error}")


def _read_by(reader: Reader, *, outputs: bool) -> Read:
    return reader.read if outputs or reader.skim is None else reader.skim
