"""Traces as a command line names them: files or `-`, and the configuration they are held to."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import click
import rich_click

from accord.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.trace.baselines import Baseline
    from accord.trace.validation import TracePlan

__all__ = ["config_options", "load_baseline", "load_plan", "trace_input", "trace_inputs"]


def config_options(function: Callable[..., None]) -> Callable[..., None]:
    """The two options that say what traces are held to."""
    allow = rich_click.option(
        "--allow-imports",
        is_flag=True,
        help="let the configuration import normalisers and validators, which runs their code",
    )
    config = rich_click.option(
        "--config", metavar="FILE", help="the trace configuration, or a contract (.accord); without one, the defaults"
    )
    return config(allow(function))


def load_plan(config: str | None, *, allow_imports: bool) -> TracePlan:
    """The configuration, compiled."""
    from accord.trace.loading import load_trace_config
    from accord.trace.validation import compile_trace_config

    if config == "":
        raise UsageError("an empty argument is no path; was a variable not set?")
    loaded = load_trace_config({} if config is None else Path(config), allow_imports=allow_imports)
    return compile_trace_config(loaded)


def trace_input(path: str) -> str | BinaryIO:
    """A file, or standard input kept so that it can be read twice."""
    if path == "-":
        stream = getattr(sys.stdin, "buffer", None)
        if stream is None:
            raise UsageError("standard input cannot be read here")
        kept = cast("BinaryIO", tempfile.SpooledTemporaryFile(max_size=1 << 24))  # noqa: SIM115 - closed at the end
        click.get_current_context().call_on_close(kept.close)
        while data := stream.read(1 << 20):
            kept.write(data)
        kept.seek(0)
        return kept
    if not path:
        raise UsageError("an empty argument is no path; was a variable not set?")
    if Path(path).is_dir():
        raise UsageError(f"{path} is a folder; name the traces in it")
    return path


def trace_inputs(_context: object, _parameter: object, paths: tuple[str, ...]) -> tuple[str, ...]:
    """Arguments that name traces; standard input can be read once."""
    if paths.count("-") > 1:
        raise UsageError("`-` stands for standard input, which is there once")
    return paths


def load_baseline(path: str | None) -> Baseline | None:
    """A baseline; `None` if there is none yet."""
    from accord.trace.baselines import read_baseline
    from accord.trace.reading import decode_json

    if path is None:
        return None
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise UsageError(f"there is no baseline {path}; `accord trace accept` writes one") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    value = decode_json(data, path)
    if not isinstance(value, dict) or "accord_trace_baseline" not in value:
        raise UsageError(f"{path} is no baseline; `accord trace accept` writes one")
    return read_baseline(value, path)
