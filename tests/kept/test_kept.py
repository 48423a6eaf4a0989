"""What earlier versions have left behind is opened by this one, which goes on with it and comes to the same verdicts.

`expected.json` in the folder of each version says, for each sample, what is to become of it.
"""

from __future__ import annotations

import json

import pytest

from tests.kept.keep import EXPECTED, HERE, SAMPLES, addresses, went_on_with

VERSIONS = sorted(path.parent for path in HERE.glob(f"*/{EXPECTED}"))
KEPT = [
    pytest.param(version, name, id=f"{version.name}-{name}")
    for version in VERSIONS
    for name in json.loads((version / EXPECTED).read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("version", "name"), KEPT)
def test_what_was_kept_is_gone_on_with(version, name):
    sample = SAMPLES[name]
    missing = None if sample.server is None else sample.server.why_not()
    if missing is not None:
        pytest.skip(f"NOT TESTED: {missing}")
    expected = json.loads((version / EXPECTED).read_text(encoding="utf-8"))[name]
    with addresses(sample) as address:
        assert went_on_with(name, version, *address) == expected


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
def test_every_folder_is_opened(version):
    folders = {path.name for path in version.iterdir() if path.is_dir()}
    assert folders == set(json.loads((version / EXPECTED).read_text(encoding="utf-8")))
    assert VERSIONS[0].name == "0.1.0"


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
def test_what_is_kept_is_small(version):
    assert sum(path.stat().st_size for path in version.rglob("*") if path.is_file()) < 1_000_000
