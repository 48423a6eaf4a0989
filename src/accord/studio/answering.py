"""From the bytes of a request to the bytes of an answer, by a table of what can be asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from accord.errors import AccordError, ContractError, InternalError
from accord.studio.requests import ConflictError, read

__all__ = ["Reply", "Table", "encode", "reply"]

_T = TypeVar("_T")

Reply = tuple[int, bytes]
"""A status, and JSON."""
Table = Mapping[str, tuple[type[Any], Callable[[_T, Any], object]]]
"""Names, each with the type of its request and the function that answers it."""


def reply(table: Table[_T], holder: _T, name: str, body: bytes) -> Reply:
    """The answer to a request, which is one also where the request is wrong or something is broken."""
    kind, function = table[name]
    try:
        return 200, encode(function(holder, read(body, kind)))
    except ContractError as error:
        from accord.diagnostics.text import render_all  # noqa: PLC0415 - only where something is wrong

        found = {"error": "the contract has errors", "text": render_all(error.diagnostics, colour=False)}
        return 422, encode(found)
    except ConflictError as error:
        return 409, encode({"error": str(error), "theirs": error.theirs})
    except InternalError as error:
        return 500, encode({"error": str(error)})
    except AccordError as error:
        return 400, encode({"error": str(error)})
    except (MemoryError, SystemError):
        raise  # not something that one request can be told: the process has to go
    except Exception as error:  # noqa: BLE001 - whatever broke inside, the page gets an answer and the studio goes on
        return 500, encode({"error": str(InternalError(f"{type(error).__name__}: {error}"))})


def encode(value: object) -> bytes:
    """JSON in ASCII, so that half of a surrogate pair in a label does no harm."""
    return json.dumps(value, separators=(",", ":")).encode()
