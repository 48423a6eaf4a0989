"""Labelled runs in any number, from a seed: most of them conform."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyarrow import parquet

CONTRACT = """
protocol Shop = rec L.{!Search.?Results.L, !Present.?{Approval, Refusal.L}.!Book.?Confirm.L, !Other.L, ?Misc.L, end}
rule "one presentation per booking" { before each Book require Present }
rule "a search is not for nothing" { after Search require Book }
"""

LABELS = ("!Search", "?Results", "!Present", "?Approval", "!Book", "?Confirm", "!Other", "?Misc")
ROUNDS = ((0, 1), (2, 3, 4, 5), (6,), (7,), (0, 1, 2, 3, 4, 5))
LAST = (2, 3, 4, 5)


def write_labelled(path, runs: int, seed: int) -> None:
    """Runs of about 21 events each; one in twenty lacks one of them."""
    rng = np.random.default_rng(seed)
    length = np.array([len(one) for one in ROUNDS])
    rounds = rng.integers(0, len(ROUNDS), (runs, 6))
    pieces = [np.array(one, np.int8) for one in (*ROUNDS, LAST)]
    order = np.concatenate([rounds, np.full((runs, 1), len(ROUNDS))], axis=1)
    lengths = np.append(length, len(LAST))[order]
    codes = np.concatenate([pieces[number] for number in order.reshape(-1).tolist()])
    of = np.repeat(np.arange(runs), lengths.sum(axis=1))
    gone = rng.random(len(codes)) < 0.05 / 21
    names = [f"{seed:03d}-{number:07d}" for number in range(runs)]
    table = pa.table(
        {
            "run": pa.DictionaryArray.from_arrays(pa.array(of[~gone].astype(np.int32)), names).cast(pa.string()),
            "label": pa.DictionaryArray.from_arrays(pa.array(codes[~gone]), list(LABELS)).cast(pa.string()),
        }
    )
    parquet.write_table(table, path)
