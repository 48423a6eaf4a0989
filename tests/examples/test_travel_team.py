"""The team of the example does what its script says."""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "examples" / "travel_team"


def test_the_two_mistakes_are_refused_and_the_rest_goes_on():
    run = subprocess.run([sys.executable, FOLDER / "team.py"], capture_output=True, text=True, check=True)
    lines = run.stdout.splitlines()
    assert [line for line in lines if line.endswith("refused")] == [
        "Agent -> Airline: Book           refused",
        "Agent -> Traveller: Offer        refused",
    ]
    assert "closed: Ok()" in lines
    assert "`price` is of type `str`, expected `Int`" in run.stdout
