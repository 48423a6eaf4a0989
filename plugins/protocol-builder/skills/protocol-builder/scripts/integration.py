"""Print the code that puts a contract in place."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from accord import AccordError, load
from accord.diagnostics.visible import visible
from accord.studio.snippets import KINDS, snippet


def main() -> int:
    """Print the code of the kind that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("contract", type=Path)
    parser.add_argument("kind", choices=KINDS, help="; ".join(f"{kind}: {title}" for kind, title in KINDS.items()))
    given = parser.parse_args()
    try:
        sys.stdout.write(snippet(load(given.contract), given.kind))
    except AccordError as error:
        for line in str(error).strip().splitlines():
            print(visible(line), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
