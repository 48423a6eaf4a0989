"""The marketplace offers what is there, in the version that is built."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import accord

ROOT = Path(__file__).parents[2]
OFFERED = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text())["plugins"]
MANIFESTS = {
    path.parents[1]: json.loads(path.read_text()) for path in ROOT.glob("plugins/*/.claude-plugin/plugin.json")
}


def test_every_plugin_is_offered_as_it_describes_itself():
    offered = {ROOT / entry["source"]: (entry["name"], entry["description"]) for entry in OFFERED}
    assert offered == {folder: (manifest["name"], manifest["description"]) for folder, manifest in MANIFESTS.items()}
    assert {folder.name for folder in MANIFESTS} == {path.name for path in (ROOT / "plugins").iterdir()}
    assert len(OFFERED) == len(MANIFESTS) >= 1


def test_there_is_one_version():
    """Who has a plugin gets a newer one only if its manifest says another version; the marketplace says none."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert accord.__version__ == version
    assert {manifest["version"] for manifest in MANIFESTS.values()} == {version}
    assert not any("version" in entry for entry in OFFERED)
