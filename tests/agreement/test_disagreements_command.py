"""The command that lists disagreements."""

import json

from tests.worlds.adjudicated import AGE, CITY, NAME, made_adjudication, world
from tests.worlds.commands import answered

__all__ = ["made_adjudication", "world"]  # the fixture


def listed(*words):
    return answered("disagreements", "covid", *words)


def test_each_location_with_the_spans_of_each_annotator(world):
    found = listed()
    assert found["total"] == 3
    assert [(each["note"], each["start"], each["end"]) for each in found["disagreements"]] == [
        ("caso-1", *NAME), ("caso-1", *AGE), ("caso-1", *CITY)
    ]  # fmt: skip
    assert found["disagreements"][2]["annotators"] == {
        "anna": [[44, 50, "CITY"]], "bruno": [[44, 50, "HOSPITAL"]], "carla": []
    }  # fmt: skip
    assert "Torino" not in json.dumps(found)
