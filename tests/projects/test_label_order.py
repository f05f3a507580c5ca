"""Labels are moved within their category: on the page, through the API, and by command."""

import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotations.core.labels import labels_of
from annotations.models import Event, Label
from annotations.projects.events import LABEL_MOVED
from annotations.projects.services.labels import merge_labels
from tests import factories as make
from tests.worlds.checks import check_page
from tests.worlds.programs import Program

LABELS = "/projects/covid/labels/"
# As the factories make them, in their categories.
ORDER = ["PATIENT", "DOCTOR", "DATE", "CITY", "HOSPITAL", "AGE"]


@pytest.fixture
def street(world):
    """A third label of a category, whose position another label has, too: as after deleting a label."""
    city = make.label_of(world.project, "CITY")
    return Label.objects.create(
        label_set=city.label_set, category=city.category, code="STREET", name="STREET", placeholder="[STREET]",
        position=make.label_of(world.project, "AGE").position,
    )  # fmt: skip


def names(world):
    return [label["name"] for label in labels_of(world.project.pk)]


def plain(world):
    """The labels in their order without categories."""
    return list(Label.objects.filter(label_set__project=world.project).values_list("name", flat=True))


def moves():
    return list(Event.objects.filter(verb=LABEL_MOVED).order_by("pk").values_list("data", flat=True))


def run(*words):
    """Return the codes of the labels, or the code of the error."""
    out = io.StringIO()
    try:
        call_command("labels", "covid", *words, "--json", stdout=out)
    except CommandError:
        return json.loads(out.getvalue())["code"]
    return [label["code"] for label in json.loads(out.getvalue())["labels"]]


def test_by_the_buttons_of_the_page(world, sign_in, street):
    assert names(world) == [*ORDER[:5], "STREET", "AGE"] and plain(world) == [*ORDER, "STREET"]
    mia = sign_in(world.mia)
    for _click in range(2):  # a double click moves it once
        answer = mia.post(reverse("label_move", args=["covid", street.pk]), {"position": 1})
        assert answer.url == f"{LABELS}#label-{street.pk}"
    assert names(world) == [*ORDER[:4], "STREET", "HOSPITAL", "AGE"]
    # Without categories, the labels of others stay where they were.
    assert plain(world) == [*ORDER[:4], "STREET", "AGE", "HOSPITAL"]
    assert moves() == [{"label": "STREET", "before": 3, "after": 2}]
    html = check_page(mia.get(LABELS))
    assert 'Up<span class="sr-only"> CITY' not in html and 'Down<span class="sr-only"> CITY' in html
    assert 'Up<span class="sr-only"> HOSPITAL' in html and 'Down<span class="sr-only"> HOSPITAL' not in html
    assert "The label was not moved" in mia.post(f"{LABELS}{street.pk}/move", {"position": "x"}, follow=True).text
    assert len(moves()) == 1


def test_through_the_api(world, street):
    program = Program(world.mia)
    one = f"/projects/covid/labels/{street.pk}/move"
    assert program.post(one, {"position": 0}).json()["name"] == "STREET"
    assert names(world)[3:6] == ["STREET", "CITY", "HOSPITAL"]
    assert program.post(one, {"position": -1}).json()["errors"][0]["field"] == "position"
    program.post(one, {"position": 99})
    assert names(world)[3:6] == ["CITY", "HOSPITAL", "STREET"]


def test_by_command(world, street):
    assert run("--move", "STREET", "--position", "1", "--by", "mia")[3:6] == ["STREET", "CITY", "HOSPITAL"]
    for words, code in (
        (("--move", "STREET"), "position"),
        (("--position", "1"), "position"),
        (("--move", "STREET", "--position", "0"), "position"),
        (("--move", "NONE", "--position", "1"), "label"),
        (("--move", "STREET", "--position", "2", "--by", "rev"), "access"),
    ):
        assert run(*words) == code
    assert len(moves()) == 1


def test_merged_labels_are_not_moved(world, sign_in, street):
    merge_labels(source=street, target=make.label_of(world.project, "CITY"), actor=world.mia)
    answer = sign_in(world.mia).post(f"{LABELS}{street.pk}/move", {"position": 0}, follow=True)
    assert "This label no longer exists." in answer.text and not moves()
