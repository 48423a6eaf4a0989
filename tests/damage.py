"""JSON values damaged in every place; snapshots with a checksum that fits all the same."""

from __future__ import annotations

import copy
import hashlib

from accord.canonical import encode


def sealed(value):
    """The snapshot with the checksum that fits."""
    body = {name: item for name, item in value.items() if name != "checksum"}
    return {**body, "checksum": "sha256:" + hashlib.sha256(encode(body)).hexdigest()}


def places(value, path=()):
    """Every place in a JSON value, and what is there."""
    yield path, value
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from places(item, (*path, index))


def changed(value, path, new):
    """The value with something else in a place; `...` takes away what is there."""
    root = [copy.deepcopy(value)]
    here, last = root, 0
    for step in path:
        here, last = here[last], step
    if new is ...:
        del here[last]
    else:
        here[last] = new
    return root[0] if root else None
