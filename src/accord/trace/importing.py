"""Code of the user's own that a configuration names: imported if that is allowed, and named when it fails.

Both what normalises payloads and what validates traces may be the user's: `package.module:attribute`.
"""

from __future__ import annotations

import traceback
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accord.diagnostics.visible import clip
from accord.errors import UsageError
from accord.trace.normaliser import TracePayloadNormaliser
from accord.trace.redaction import Redaction

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accord.trace.config import NormaliserConfig, TraceRedactConfig

__all__ = ["imported", "is_address", "make_normaliser", "make_redaction", "where_it_failed"]


def make_redaction(config: TraceRedactConfig) -> Redaction:
    """What must not be seen; nothing, unless it is enabled."""
    return Redaction(config.json_pointers if config.enabled else (), config.replacement)


def make_normaliser(
    config: NormaliserConfig,
) -> TracePayloadNormaliser | Callable[[dict[str, Any]], Mapping[str, Any]]:
    """The normaliser; `UsageError` if it is to be imported and may not, or cannot."""
    if config.kind == "builtin":
        if config.name != "structural_v1":
            raise UsageError(f"there is no normaliser `{config.name}`; there is `structural_v1`")
        try:
            return TracePayloadNormaliser(**config.config)
        except TypeError as error:
            raise UsageError(f"the configuration of the normaliser: {error}") from None
    function = imported(config.import_, "normaliser", config.config, allowed=config.allow_imports)

    def normalise(payload: dict[str, Any]) -> Mapping[str, Any]:
        try:
            normal: Mapping[str, Any] = function(payload)
        except (Exception, SystemExit) as error:
            raise UsageError(f"the normaliser `{config.import_}` failed: {where_it_failed(error)}") from error
        return normal

    return normalise


def is_address(text: object) -> bool:
    """Whether a text names an attribute of a module."""
    return isinstance(text, str) and text.count(":") == 1 and all(text.split(":"))


def imported(address: str | None, what: str, config: Mapping[str, Any], *, allowed: bool) -> Callable[..., Any]:
    """What stands at `package.module:attribute`, a function or a class, to be called with `config` by name.

    `what` says in errors what it should be. Raises `UsageError` if it may not be imported, or cannot.
    """
    if not allowed:
        raise UsageError(f"a {what} that is imported runs code; allow it with `allow_imports=True`")
    if not is_address(address):
        raise UsageError(f"`import` of a {what} says `package.module:attribute`, got {address!r:.80}")
    module, _, name = str(address).partition(":")
    try:
        function = getattr(import_module(module), name)
    except (Exception, SystemExit) as error:
        hint = "; is its folder on `PYTHONPATH`?" if isinstance(error, ModuleNotFoundError) else ""
        raise UsageError(f"cannot import the {what} `{address}`: {where_it_failed(error)}{hint}") from error
    if not callable(function):
        raise UsageError(f"the {what} `{address}` is a `{type(function).__name__}` and cannot be called")
    if not all(isinstance(key, str) for key in config):
        raise UsageError(f"the `config` of the {what} `{address}` has a key that is no text")
    return partial(function, **config) if config else function


def where_it_failed(error: BaseException) -> str:
    """An error of the user's code in a sentence, with the line of the code it came from.

    Example:
        >>> where_it_failed(KeyError("total"))
        "KeyError: 'total'"
    """
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 - an error may be broken itself
        said = ""
    frames = traceback.extract_tb(error.__traceback__)[1:]  # the first is where it was called
    theirs = [frame for frame in frames if "importlib" not in frame.filename]
    line = f" ({clip(Path(theirs[-1].filename).name, 60)}, line {theirs[-1].lineno})" if theirs else ""
    return clip(f"{type(error).__name__}: {said}" if said else type(error).__name__, 300) + line
