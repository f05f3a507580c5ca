"""The command that lists disagreements."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from tests.worlds.adjudicated import AGE, CITY, NAME, made_adjudication, world

__all__ = ["made_adjudication", "world"]  # the fixture

pytestmark = pytest.mark.django_db


def listed(*words):
    out = io.StringIO()
    call_command("disagreements", "covid", *words, "--json", stdout=out)
    return json.loads(out.getvalue())


def test_each_location_with_the_spans_of_each_annotator(world):
    found = listed()
    assert found["total"] == 3
    assert [(each["note"], each["start"], each["end"]) for each in found["disagreements"]] == [
        ("caso-1", *NAME), ("caso-1", *AGE), ("caso-1", *CITY),
    ]  # fmt: skip
    assert found["disagreements"][2]["annotators"] == {
        "anna": [[44, 50, "CITY"]], "bruno": [[44, 50, "HOSPITAL"]], "carla": [],
    }  # fmt: skip
    assert "Torino" not in json.dumps(found)


def test_filters(world):
    assert listed("--kind", "label")["total"] == 1
    assert listed("--label", "AGE")["total"] == 1
    assert listed("--note", "caso-1", "--round", "1", "--cause", "none")["total"] == 3
    for words in (("--label", "NONE"), ("--note", "none"), ("--round", "2")):
        with pytest.raises(CommandError, match="There is no"):
            listed(*words)


def test_names_stay_hidden_in_an_anonymous_project(world):
    world.project.anonymous_adjudication = True
    world.project.save()
    for words in ((), ("--by", "rita")):
        assert "anna" not in json.dumps(listed(*words))
