"""Sessions of all roles: a wrong one is noticed where the campaign of `test_choreography` plays them."""

from __future__ import annotations

import pytest

from accord.session.crew import Crew, Joint
from tests.properties.choreographing import campaign


def last_in_first_out(monkeypatch):
    def newest(self, sender, receiver):
        return next((labels[-1] for ends, labels in self.channels if ends == (sender, receiver)), None)

    monkeypatch.setattr(Joint, "head", newest)


def everybody_stays_where_it_is(monkeypatch):
    real = Crew.do

    def forgetful(self, joint, role, deed, *, played):
        after = real(self, joint, role, deed, played=played)
        return self.at(joint.states, after.channels, played=played)

    monkeypatch.setattr(Crew, "do", forgetful)


@pytest.mark.parametrize("plant", [last_in_first_out, everybody_stays_where_it_is])
def test_a_planted_bug_is_caught(plant, monkeypatch):
    plant(monkeypatch)
    assert campaign(3, 500)[1] is not None
