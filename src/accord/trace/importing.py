"""The normaliser that a configuration asks for: the builtin one, or a function of the user's own."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from accord.errors import UsageError
from accord.trace.normaliser import TracePayloadNormaliser
from accord.trace.redaction import Redaction

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accord.trace.config import NormaliserConfig, TraceRedactConfig

__all__ = ["make_normaliser", "make_redaction"]


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
    if not config.allow_imports:
        raise UsageError("a normaliser that is imported runs code; allow it with `allow_imports=True`")
    module, _, name = (config.import_ or "").partition(":")
    if not module or not name:
        raise UsageError(f"`import` says `package.module:function`, got {config.import_!r}")
    try:
        function = getattr(import_module(module), name)
    except Exception as error:
        raise UsageError(f"cannot import the normaliser `{config.import_}`: {error}") from error
    if not callable(function):
        raise UsageError(f"the normaliser `{config.import_}` is no function")
    return partial(function, **config.config) if config.config else function
