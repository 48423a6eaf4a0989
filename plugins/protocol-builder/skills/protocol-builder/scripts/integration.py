"""Print the code that puts a contract in place."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from accord import AccordError, load
from accord.diagnostics.visible import visible
from accord.studio.requests import Snippet
from accord.studio.role_snippets import ROLE_KINDS
from accord.studio.snippets import KINDS, snippet


def main() -> int:
    """Print the code of the kind that was asked for."""
    every = {**KINDS, **ROLE_KINDS}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("contract", type=Path)
    parser.add_argument("kind", choices=every, help="; ".join(f"{kind}: {title}" for kind, title in every.items()))
    parser.add_argument("--protocol", help="which one, where the contract has several between roles")
    parser.add_argument("--role", help="whose code it is, where the contract is between roles")
    given = parser.parse_args()
    try:
        contract = load(given.contract)
        asked = Snippet(contract.document.source.text, given.kind, given.protocol, given.role)
        sys.stdout.write(snippet(contract, asked))
    except AccordError as error:
        for line in str(error).strip().splitlines():
            print(visible(line), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
