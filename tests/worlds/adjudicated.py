"""A note that three people have read, and what an adjudicator does with it: for the tests of adjudication."""

import uuid
from types import SimpleNamespace

import pytest

from annotations.adjudicate.selectors.desk import desk, desk_state
from annotations.adjudicate.services.deciding import decide
from annotations.adjudicate.services.plan import Act, Request, Seen
from annotations.models import (
    Span,
)
from tests import factories as make

TEXT = "Mario Rossi, 54 anni, visto il 12/03/2021 a Torino dal dott. Bianchi."
NAME, SURNAME, AGE, DATE, CITY, DOCTOR = (0, 11), (6, 11), (13, 15), (31, 41), (44, 50), (61, 68)


@pytest.fixture
def world():
    """Three readings: all have the date; two the whole name; each says something else of Torino; one the age."""
    project = make.make_project("covid")
    anna, bruno, carla = (make.make_member(project, user=name) for name in ("anna", "bruno", "carla"))
    rita, rosa = (make.make_member(project, "reviewer", name) for name in ("rita", "rosa"))
    note = make.make_note(project, TEXT, "caso-1", readers=[anna, bruno, carla])
    sets = {
        "anna": [(*NAME, "PATIENT"), (*DATE, "DATE"), (*CITY, "CITY")],
        "bruno": [(*NAME, "PATIENT"), (*DATE, "DATE"), (*CITY, "HOSPITAL"), (*AGE, "AGE")],
        "carla": [(*SURNAME, "PATIENT"), (*DATE, "DATE")],
    }
    people = {"anna": anna, "bruno": bruno, "carla": carla}
    readings = {name: make.make_set(note, people[name], spans, submitted=True) for name, spans in sets.items()}
    label = {each.name: each.pk for each in project.label_set.labels.all()}
    return SimpleNamespace(
        project=project, note=note, rita=rita, rosa=rosa, label=label, readings=readings, **people
    )  # fmt: skip


def state(world):
    return desk_state(world.project, desk(world.project, world.note))


def place_at(world, place):
    return next(each for each in state(world)["places"] if each["start"] <= place[0] < each["end"])


def seen(place):
    return Seen(place["start"], place["end"], place["key"])


def act(world, act, place=None, *, user=None, change_id=None, about=None, **more):
    shown = about if about is not None else [place_at(world, place)] if place else []
    request = Request(change_id or uuid.uuid4(), Act(act), tuple(seen(each) for each in shown), **more)
    return decide(project=world.project, document=world.note, user=user or world.rita, request=request)


def own(world, span, label, **more):
    found = [each for each in state(world)["places"] if each["start"] < span[1] and span[0] < each["end"]]
    whole = {"span": (*span, world.label[label]), "quote": TEXT[span[0] : span[1]]}
    return act(world, "own", about=more.pop("about", found), **(whole | more))


def unanimous(world, **more):
    return act(world, "unanimous", about=[p for p in state(world)["places"] if p["standing"] == "agreed"], **more)


def outcome(world):
    """(label, text) of the adjudicated set."""
    rows = Span.objects.filter(annotation_set__document=world.note, annotation_set__author__kind="adjudicated")
    found = rows.order_by("start", "end").values_list("label__name", "start", "end")
    return [(label, TEXT[start:end]) for label, start, end in found]


def provenance(world, place):
    return Span.objects.get(annotation_set__author__kind="adjudicated", start=place[0], end=place[1]).provenance


def standings(world):
    return [(place["start"], place["standing"]) for place in state(world)["places"]]


def decide_all(world):
    act(world, "majority", NAME)
    act(world, "nothing", AGE)
    unanimous(world)
    act(world, "reader", CITY, reader=1)
