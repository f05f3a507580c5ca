"""The outcome of an annotator's spans after adjudication: who sees it and when, and that it names nobody else."""

import uuid
from types import SimpleNamespace

import pytest
from django.urls import reverse

from annotations.agreement.rules.units import Fate, outcome
from annotations.agreement.selectors.desk import desk, desk_state
from annotations.agreement.services.deciding import decide, finish_adjudication
from annotations.agreement.services.plan import Act, Request, ShownLocation
from annotations.core.services import NOTE_READ
from annotations.models import AnnotationSet, Assignment, Event, Project
from annotations.text.spans import Span as DomainSpan
from tests import factories as make
from tests.worlds.checks import check_page

NAME, AGE, DATE, CITY, DOCTOR = (0, 11), (13, 15), (31, 41), (44, 50), (61, 68)


ANN = [(*NAME, "PATIENT"), (*AGE, "AGE"), (*DATE, "DATE"), (*CITY, "HOSPITAL")]
BEN = [(*NAME, "PATIENT"), (*DATE, "DATE"), (*CITY, "CITY"), (*DOCTOR, "DOCTOR")]
ACTS = [(NAME, "majority"), (AGE, "nothing"), (DATE, "majority"), (CITY, "annotator"), (DOCTOR, "annotator")]


@pytest.fixture
def decided(world: SimpleNamespace) -> SimpleNamespace:
    """An adjudicated note: ann's name and date stay, CITY replaces her HOSPITAL, her age goes, a doctor is added."""
    for person, spans in ((world.ann, ANN), (world.ben, BEN)):
        make.make_set(world.note, person, spans, submitted=True)
    Assignment.objects.filter(document=world.note).update(state="done")
    for (start, _), act in ACTS:
        locations = desk_state(world.project, desk(world.project, world.note))["locations"]
        location = next(each for each in locations if each["start"] == start)
        seen = (ShownLocation(location["start"], location["end"], location["key"]),)
        request = Request(uuid.uuid4(), Act(act), seen, annotator=2 if act == "annotator" else None)
        decide(project=world.project, document=world.note, user=world.rev, request=request)
    return world


def page(world: SimpleNamespace) -> str:
    return reverse("outcome", args=["covid", world.note.pk])


def finish(world: SimpleNamespace) -> None:
    finish_adjudication(project=world.project, document=world.note, user=world.rev)


def test_the_outcome_is_hidden_until_adjudication_is_finished(decided, ann, sign_in):
    assert ann.get(page(decided)).status_code == 404
    html = ann.get(reverse("annotate", args=["covid", decided.note.pk])).content.decode()
    assert 'id="outcome" href="" hidden>' in html
    finish(decided)
    assert ann.get(page(decided)).status_code == 200
    assert sign_in(decided.rev).get(page(decided)).status_code == 404, "this person has no annotations"
    Project.objects.filter(pk=decided.project.pk).update(show_outcome=False)
    assert ann.get(page(decided)).status_code == 403
    assert "outcome/" not in ann.get("/projects/covid/notes/").content.decode()
    Project.objects.filter(pk=decided.project.pk).update(show_outcome=True)
    AnnotationSet.objects.filter(author__name="ann").update(state="draft")
    assert ann.get(page(decided)).status_code == 404, "the note is reopened"


def test_the_outcome_of_each_span(decided, ann):
    finish(decided)
    response = ann.get(page(decided))
    html = check_page(response)
    lines = response.context["lines"]
    assert [(line["fate"], line["text"], str(line["how"])) for line in lines] == [
        ("kept", "Mario Rossi", ""), ("left-out", "54", ""), ("kept", "12/03/2021", ""),
        ("changed", "Torino", "different label"), ("missed", "Bianchi", ""),
    ]  # fmt: skip
    assert [count for _, _, count in response.context["counts"]] == [2, 1, 1, 1]
    assert "ben" not in html and "rev" not in html.replace("prev", "").replace("deidreview", ""), "names nobody else"
    assert Event.objects.get(verb=NOTE_READ, actor=decided.ann).data == {"what": "outcome"}
    assert f'href="{page(decided)}"' in ann.get("/projects/covid/notes/").content.decode()
    annotation_set = ann.get(reverse("annotate", args=["covid", decided.note.pk])).content.decode()
    assert f'id="outcome" href="{page(decided)}">' in annotation_set


def test_fates_by_hand():
    own = [DomainSpan(0, 5, "P"), DomainSpan(6, 11, "P"), DomainSpan(20, 26, "C"), DomainSpan(30, 32, "A")]
    now = [DomainSpan(0, 11, "P"), DomainSpan(20, 26, "H"), DomainSpan(40, 42, "D")]
    assert [(line.fate, line.start, line.moved, line.relabeled) for line in outcome(own, now)] == [
        (Fate.CHANGED, 0, True, False), (Fate.LEFT_OUT, 6, False, False), (Fate.CHANGED, 20, False, True),
        (Fate.LEFT_OUT, 30, False, False), (Fate.MISSED, 40, False, False),
    ]  # fmt: skip
    assert outcome([], []) == []
