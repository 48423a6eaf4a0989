"""The labeller beyond what the specification pins."""

from __future__ import annotations

import pytest

from accord.choreography.compiling import compile_contract
from accord.projection.labels import labeller_of

RULE = '\nrule "r" { at most 1 A }'


@pytest.mark.parametrize(
    ("contract", "reads"),
    [
        ("!a.end", False),
        ("events { A when call a where x == 1 }" + RULE, False),
        ('events { A when user says "x" where text != "" }' + RULE, False),
        ("events { A when result of a }" + RULE, False),
        ("events { A when result of a where x == 1 }" + RULE, True),
        ("events { A when error of a where call.x == 1 }" + RULE, True),
        ("events { A otherwise }" + RULE, False),
    ],
)
def test_what_a_label_can_depend_on(contract, reads):
    assert labeller_of(compile_contract(contract)).reads_outputs == reads
