"""The limits on the spans of one annotation set, in imports, review, bulk acts and adjudication."""

import pytest

from annotations.core.errors import ServiceError
from annotations.models import AnnotationSet, Decision, Document, Event, Resolution, Span
from annotations.review.services.log import Act
from annotations.transfer.services import importing, staged
from tests.factories import make_project
from tests.review import test_bulk as bulk_world
from tests.review import test_reviewing as review_world
from tests.transfer.test_importing import brat, codes
from tests.worlds.adjudicated import DOCTOR, NAME, act, own, world

__all__ = ["world"]  # the fixture

pytestmark = pytest.mark.django_db
ANN = "T1\tPATIENT 0 11\tMario Rossi\nT2\tPATIENT 0 5\tMario\nT3\tPATIENT 6 11\tRossi\nT4\tCITY 30 36\tTorino\n"


@pytest.fixture
def at_most(monkeypatch):
    def limit(spans, deep=10):
        for module in (
            "annotations.domain.crowding", "annotations.core.room", "annotations.transfer.services.import_plan"
        ):  # fmt: skip
            monkeypatch.setattr(f"{module}.MOST_SPANS", spans)
            monkeypatch.setattr(f"{module}.DEEPEST", deep)

    return limit


@pytest.mark.parametrize(
    ("spans", "deep", "message"),
    [
        (3, 10, "it has 4 spans, and an annotation set holds at most 3; split the note or take spans out of its file"),
        (9, 1, "2 spans lie over the character at 0, and at most 1 may; take some out of its file"),
    ],
)
def test_a_note_of_an_import_is_refused_whole_and_the_others_are_taken(at_most, spans, deep, message):
    at_most(spans, deep)
    files = [*brat("a", ann=ANN), *brat("b", text="Mario Rossi, 54 anni, visto a Milano.\n", ann="")]
    project = make_project()
    report = importing.import_files(project=project, files=files, format="brat", written_as="gold")
    assert (report["notes"], report["refused_notes"], codes(report)) == (1, 1, ["room"])
    assert (report["refused"][0]["file"], report["refused"][0]["message"]) == ("a", message)
    assert list(Document.objects.values_list("name", flat=True)) == ["b"]
    # Without its annotations it is taken.
    report = importing.import_files(project=project, files=brat("a", ann=ANN), format="brat")
    assert (report["notes"], report["refused"]) == (1, [])


def test_the_preview_says_so_before_anything_is_written(at_most):
    at_most(3)
    from tests.transfer.test_importing import stage, zipped

    row = stage(make_project(), zipped(*brat(ann=ANN)))
    assert codes(staged.preview_import(row)) == ["room"]


def test_a_reviewer_s_acceptance_and_own_span_meet_the_limit(at_most):
    world = review_world.World()
    at_most(1)
    world.do(Act.ACCEPT, proposal=world.name.pk)
    before = Event.objects.count()
    for asked in (
        {"act": Act.ACCEPT, "proposal": world.place.pk},
        {"act": Act.ADD, "place": (13, 15, world.label("AGE")), "quote": "54"},
    ):
        with pytest.raises(ServiceError, match="holds at most 1 spans on one note") as refused:
            world.do(**asked)
        assert refused.value.code == "room"
    assert (world.gold(), Event.objects.count()) == ([(0, 11, "PATIENT")], before)
    # Rejecting goes on, and what was accepted can be taken back.
    world.do(Act.REJECT, proposal=world.place.pk)
    world.do(Act.UNDO)
    world.do(Act.UNDO)
    world.do(Act.ACCEPT, proposal=world.place.pk)
    assert world.gold() == [(24, 30, "HOSPITAL")]


def test_a_bulk_act_leaves_open_what_a_full_note_does_not_take(at_most):
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
