"""What became of an annotator's spans: when it can be seen, what it says, and that it names nobody else."""

import uuid
from types import SimpleNamespace

import pytest
from django.urls import reverse

from annotations.adjudicate.selectors.desk import desk, desk_state
from annotations.adjudicate.services.deciding import close, decide
from annotations.adjudicate.services.plan import Act, Request, Seen
from annotations.domain.outcome import Fate, outcome
from annotations.domain.spans import Span as DomainSpan
from annotations.models import AnnotationSet, Assignment, Event, Project, Verb
from tests import factories as make
from tests.worlds.checks import check_page

NAME, AGE, DATE, CITY, DOCTOR = (0, 11), (13, 15), (31, 41), (44, 50), (61, 68)


ANN = [(*NAME, "PATIENT"), (*AGE, "AGE"), (*DATE, "DATE"), (*CITY, "HOSPITAL")]
BEN = [(*NAME, "PATIENT"), (*DATE, "DATE"), (*CITY, "CITY"), (*DOCTOR, "DOCTOR")]
ACTS = [(NAME, "majority"), (AGE, "nothing"), (DATE, "majority"), (CITY, "reader"), (DOCTOR, "reader")]


@pytest.fixture
def closed(world: SimpleNamespace) -> SimpleNamespace:
    """ann's name and date stand, her HOSPITAL became ben's CITY, her age is left out, and she missed the doctor."""
    for person, spans in ((world.ann, ANN), (world.ben, BEN)):
        make.make_set(world.note, person, spans, submitted=True)
    Assignment.objects.filter(document=world.note).update(state="done")
    for (start, _), act in ACTS:
        places = desk_state(world.project, desk(world.project, world.note))["places"]
        place = next(each for each in places if each["start"] == start)
        seen = (Seen(place["start"], place["end"], place["key"]),)
        request = Request(uuid.uuid4(), Act(act), seen, reader=2 if act == "reader" else None)
        decide(project=world.project, document=world.note, user=world.rev, request=request)
    return world


def page(world: SimpleNamespace) -> str:
    return reverse("outcome", args=["covid", world.note.pk])


def finish(world: SimpleNamespace) -> None:
    close(project=world.project, document=world.note, user=world.rev)


def test_nothing_is_told_before_the_note_is_closed(closed, sign_in):
    assert sign_in(closed.ann).get(page(closed)).status_code == 404
    reading = sign_in(closed.ann).get(reverse("annotate", args=["covid", closed.note.pk])).content.decode()
    assert 'id="outcome" href="" hidden>' in reading
    finish(closed)
    assert sign_in(closed.ann).get(page(closed)).status_code == 200
    assert sign_in(closed.vic).get(page(closed)).status_code == 403
    assert sign_in(closed.out).get(page(closed)).status_code == 404
    Project.objects.filter(pk=closed.project.pk).update(show_outcome=False)
    assert sign_in(closed.ann).get(page(closed)).status_code == 403
    assert "outcome/" not in sign_in(closed.ann).get("/projects/covid/notes/").content.decode()


def test_what_became_of_each_span(closed, sign_in):
    finish(closed)
    client = sign_in(closed.ann)
    response = client.get(page(closed))
    html = check_page(response)
    lines = response.context["lines"]
    assert [(line["fate"], line["text"], str(line["how"])) for line in lines] == [
        ("kept", "Mario Rossi", ""), ("left-out", "54", ""), ("kept", "12/03/2021", ""),
        ("changed", "Torino", "another label"), ("missed", "Bianchi", ""),
    ]  # fmt: skip
    assert [count for _, _, count in response.context["counts"]] == [2, 1, 1, 1]
    assert "ben" not in html and "rev" not in html.replace("prev", "").replace("deidreview", ""), "nobody else is named"
    assert Event.objects.get(verb=Verb.NOTE_READ, actor=closed.ann).data == {"what": "outcome"}
    assert f'href="{page(closed)}"' in client.get("/projects/covid/notes/").content.decode()
    reading = client.get(reverse("annotate", args=["covid", closed.note.pk])).content.decode()
    assert f'id="outcome" href="{page(closed)}">' in reading


def test_a_reading_that_is_open_again_sees_nothing(closed, sign_in):
    finish(closed)
    AnnotationSet.objects.filter(author__name="ann").update(state="draft")
    assert sign_in(closed.ann).get(page(closed)).status_code == 404


def test_who_has_not_read_the_note_sees_nothing(closed, sign_in):
    finish(closed)
    assert sign_in(closed.rev).get(page(closed)).status_code == 404


def test_fates_by_hand():
    own = [DomainSpan(0, 5, "P"), DomainSpan(6, 11, "P"), DomainSpan(20, 26, "C"), DomainSpan(30, 32, "A")]
    now = [DomainSpan(0, 11, "P"), DomainSpan(20, 26, "H"), DomainSpan(40, 42, "D")]
    found = outcome(own, now)
    assert [(line.fate, line.start, line.moved, line.relabelled) for line in found] == [
        (Fate.CHANGED, 0, True, False),
        (Fate.LEFT_OUT, 6, False, False),
        (Fate.CHANGED, 20, False, True),
        (Fate.LEFT_OUT, 30, False, False),
        (Fate.MISSED, 40, False, False),
    ]
    assert outcome([], []) == []
