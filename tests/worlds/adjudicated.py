"""A note with three submitted annotation sets, and an adjudicator's actions on it, for tests of adjudication."""

import uuid
from types import SimpleNamespace

import pytest

from annotations.agreement.selectors.desk import desk, desk_state
from annotations.agreement.services.deciding import decide
from annotations.agreement.services.plan import Act, Request, ShownLocation
from annotations.core.services import ServiceError
from annotations.models import Span
from tests import factories as make
from tests.held import made_once

TEXT = "Mario Rossi, 54 anni, visto il 12/03/2021 a Torino dal dott. Bianchi."
NAME, SURNAME, AGE, DATE, CITY, DOCTOR = (0, 11), (6, 11), (13, 15), (31, 41), (44, 50), (61, 68)


def make_world():
    """A note with three annotation sets. All three label the date, two label the whole name, and one labels the age.

    Two annotators give Torino different labels.
    """
    project = make.make_project("covid")
    anna, bruno, carla = (make.make_member(project, user=name) for name in ("anna", "bruno", "carla"))
    rita, rosa = (make.make_member(project, "reviewer", name) for name in ("rita", "rosa"))
    note = make.make_note(project, TEXT, "caso-1", annotators=[anna, bruno, carla])
    sets = {
        "anna": [(*NAME, "PATIENT"), (*DATE, "DATE"), (*CITY, "CITY")],
        "bruno": [(*NAME, "PATIENT"), (*DATE, "DATE"), (*CITY, "HOSPITAL"), (*AGE, "AGE")],
        "carla": [(*SURNAME, "PATIENT"), (*DATE, "DATE")],
    }
    people = {"anna": anna, "bruno": bruno, "carla": carla}
    annotation_sets = {name: make.make_set(note, people[name], spans, submitted=True) for name, spans in sets.items()}
    label = {each.name: each.pk for each in project.label_set.labels.all()}
    return SimpleNamespace(
        project=project, note=note, rita=rita, rosa=rosa, label=label, annotation_sets=annotation_sets, **people
    )  # fmt: skip


made_adjudication, world = made_once(make_world, name="made_adjudication")


def state(world):
    return desk_state(world.project, desk(world.project, world.note))


def location_at(world, bounds):
    return next(each for each in state(world)["locations"] if each["start"] <= bounds[0] < each["end"])


def seen(location):
    return ShownLocation(location["start"], location["end"], location["key"])


def act(world, act, bounds=None, *, user=None, change_id=None, about=None, **more):
    shown = about if about is not None else [location_at(world, bounds)] if bounds else []
    request = Request(change_id or uuid.uuid4(), Act(act), tuple(seen(each) for each in shown), **more)
    return decide(project=world.project, document=world.note, user=user or world.rita, request=request)


def refused(world, *given, **more):
    """The code of the error of an act."""
    with pytest.raises(ServiceError) as error:
        act(world, *given, **more)
    return error.value.code


def own(world, span, label, **more):
    found = [each for each in state(world)["locations"] if each["start"] < span[1] and span[0] < each["end"]]
    whole = {"span": (*span, world.label[label]), "quote": TEXT[span[0] : span[1]]}
    return act(world, "own", about=more.pop("about", found), **(whole | more))


def unanimous(world, **more):
    return act(world, "unanimous", about=[p for p in state(world)["locations"] if p["state"] == "agreed"], **more)


def outcome(world):
    """Return (label, text) of each span of the adjudicated set."""
    rows = Span.objects.filter(annotation_set__document=world.note, annotation_set__author__kind="adjudicated")
    found = rows.order_by("start", "end").values_list("label__name", "start", "end")
    return [(label, TEXT[start:end]) for label, start, end in found]


def provenance(world, bounds):
    return Span.objects.get(annotation_set__author__kind="adjudicated", start=bounds[0], end=bounds[1]).provenance


def location_states(world):
    return [(location["start"], location["state"]) for location in state(world)["locations"]]


def decide_all(world):
    act(world, "majority", NAME)
    act(world, "nothing", AGE)
    unanimous(world)
    act(world, "annotator", CITY, annotator=1)
