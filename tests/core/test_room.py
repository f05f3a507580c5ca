"""The limits on the spans of one annotation set, in imports, review, bulk acts and adjudication."""

import uuid

import pytest

from annotations.core.errors import ServiceError
from annotations.core.progress import silent
from annotations.domain.crowding import crowd_in
from annotations.gold.services.making import make_gold, make_gold_bulk
from annotations.models import AnnotationSet, Decision, Document, Event, Resolution, Span
from annotations.models.project import SecondReview
from annotations.projects.services.labels import merge_labels
from annotations.review.services.deciding import Request, decide
from annotations.review.services.log import Act
from annotations.transfer.services import importing, staged
from tests.factories import label_of, make_author, make_member, make_note, make_project, make_set
from tests.review import test_bulk as bulk_world
from tests.review import test_reviewing as review_world
from tests.review import test_two_reviewers as second_world
from tests.transfer.brat_files import brat, codes, stage, zipped
from tests.worlds.adjudicated import DOCTOR, NAME, act, make_world, own

pytestmark = pytest.mark.django_db
ANN = "T1\tPATIENT 0 11\tMario Rossi\nT2\tPATIENT 0 5\tMario\nT3\tPATIENT 6 11\tRossi\nT4\tCITY 30 36\tTorino\n"


@pytest.fixture
def world():
    return make_world()


@pytest.fixture
def at_most(monkeypatch):
    def limit(spans, deep=10):
        for module in (
            "annotations.domain.crowding", "annotations.core.room", "annotations.transfer.services.reading"
        ):  # fmt: skip
            monkeypatch.setattr(f"{module}.MOST_SPANS", spans)
            monkeypatch.setattr(f"{module}.DEEPEST", deep)

    return limit


@pytest.mark.parametrize(
    ("spans", "deep", "message"),
    [
        (
            3,
            10,
            "The note has 4 spans; an annotation set holds at most 3. Split the note or remove spans from the file.",
        ),
        (9, 1, "2 spans cover the character at offset 0; at most 1 are allowed. Remove some from the file."),
    ],
)
def test_an_import_refuses_a_whole_note_and_takes_the_others(at_most, spans, deep, message):
    at_most(spans, deep)
    files = [*brat("a", ann=ANN), *brat("b", text="Mario Rossi, 54 anni, visto a Milano.\n", ann="")]
    project = make_project()
    report = importing.import_files(project=project, files=files, format="brat", written_as="gold")
    assert (report["notes"], report["refused_notes"], codes(report)) == (1, 1, ["room"])
    assert (report["refused"][0]["file"], report["refused"][0]["message"]) == ("a", message)
    assert list(Document.objects.values_list("name", flat=True)) == ["b"]
    # Without its annotations the note is imported.
    report = importing.import_files(project=project, files=brat("a", ann=ANN), format="brat")
    assert (report["notes"], report["refused"]) == (1, [])


def test_the_preview_reports_the_limit_before_anything_is_written(at_most):
    at_most(3)
    row = stage(make_project(), zipped(*brat(ann=ANN)))
    assert codes(staged.preview_import(row)) == ["room"]


def test_a_reviewer_s_acceptance_and_own_span_meet_the_limit(at_most):
    world = review_world.World()
    at_most(1)
    world.do(Act.ACCEPT, suggestion=world.name.pk)
    before = Event.objects.count()
    for asked in (
        {"act": Act.ACCEPT, "suggestion": world.place.pk},
        {"act": Act.ADD, "bounds": (13, 15, world.label("AGE")), "quote": "54"},
    ):
        with pytest.raises(ServiceError, match="holds at most 1 spans on one note") as refused:
            world.do(**asked)
        assert refused.value.code == "room"
    assert (world.gold(), Event.objects.count()) == ([(0, 11, "PATIENT")], before)
    # Suggestions can still be rejected, and acceptances undone.
    world.do(Act.REJECT, suggestion=world.place.pk)
    world.do(Act.UNDO)
    world.do(Act.UNDO)
    world.do(Act.ACCEPT, suggestion=world.place.pk)
    assert world.gold() == [(24, 30, "HOSPITAL")]


def test_a_bulk_act_leaves_suggestions_open_where_the_note_is_full(at_most):
    world = bulk_world.World()
    at_most(1)
    world.do(least=0.0)
    counts = [row.spans.count() for row in AnnotationSet.objects.filter(author__kind="gold")]
    assert max(counts) == 1
    assert Decision.objects.count() == sum(counts)
    assert Span.objects.filter(annotation_set__author__kind="run", decision__isnull=True).exists()
    world.check()


def test_an_adjudicator_s_own_span_meets_the_limit(at_most, world):
    at_most(1)
    act(world, "majority", NAME)
    before = Resolution.objects.count()
    with pytest.raises(ServiceError) as refused:
        own(world, DOCTOR, "DOCTOR")
    assert (refused.value.code, Resolution.objects.count()) == ("room", before)


# ── Sets from before the limits ──────────────────────────────────────────────────────────────────────────────────────


def test_a_set_that_is_too_large_does_not_become_gold(at_most):
    project = make_project("covid")
    ann = make_member(project, user="ann")
    large = make_set(make_note(project), ann, [(0, 11, "PATIENT"), (13, 15, "AGE")], submitted=True)
    make_set(make_note(project), ann, [(0, 11, "PATIENT")], submitted=True)
    at_most(1)
    with pytest.raises(ServiceError, match="holds at most 1 spans on one note") as refused:
        make_gold(document=large.document, annotation_set=large, actor=None)
    assert refused.value.code == "room" and not AnnotationSet.objects.filter(author__kind="gold").exists()
    done = make_gold_bulk(project_id=project.pk, author_id=large.author_id, actor_id=None, progress=silent)
    assert (done["made"], done["kept"]) == (1, 1)
    assert not AnnotationSet.objects.filter(author__kind="gold", document=large.document).exists()


def test_an_annotator_begins_without_the_spans_of_a_set_that_is_too_large(at_most, client):
    project = make_project("covid")
    run, ann = make_author(project, kind="run", name="rules-1"), make_member(project, user="ann")
    note = make_note(project, annotators=[ann])
    make_set(note, run, [(0, 11, "PATIENT"), (13, 15, "AGE")], submitted=True)
    project.seed_from = run
    project.save()
    at_most(1)
    client.force_login(ann)
    assert client.get(f"/projects/covid/notes/{note.pk}/data").json()["spans"] == []
    assert not AnnotationSet.objects.filter(author__user=ann).exists()


def test_continuing_a_handed_over_review_respects_the_limit(at_most, db):
    world = second_world.World(SecondReview.BLIND)
    world.first()
    other = make_author(world.project, kind="run", name="crf-1")
    extra = make_set(world.note, other, [(13, 15, "AGE")], submitted=True).spans.get()
    request = Request(change_id=uuid.uuid4(), act=Act.ACCEPT, suggestion=extra.pk)
    decide(document=world.note, author=other, user=world.ugo, request=request)
    at_most(2)
    with pytest.raises(ServiceError, match="holds at most 2 spans on one note") as refused:
        world.reopen(world.rita)
    assert refused.value.code == "room" and world.gold == [(13, "AGE")]
    at_most(3)
    world.reopen(world.rita)
    assert world.gold == [(0, "PATIENT"), (13, "AGE"), (24, "HOSPITAL")]


def test_merging_labels_makes_no_set_larger_or_deeper(at_most):
    project = make_project("covid")
    made = make_set(make_note(project), make_member(project), [(0, 11, "PATIENT"), (0, 11, "DOCTOR"), (0, 5, "DOCTOR")])
    at_most(3, 3)
    merge_labels(source=label_of(project, "DOCTOR"), target=label_of(project, "PATIENT"), actor=None)
    assert made.spans.count() == 2 and crowd_in(made.spans.values_list("start", "end")) is None
