"""The limits on the spans of one annotation set, in imports, review, bulk acts and adjudication."""

from types import SimpleNamespace

import pytest

from annotations.core.services import ServiceError, silent
from annotations.exchange.services import importing, staged
from annotations.gold.services.making import make_gold, make_gold_bulk
from annotations.models import AnnotationSet, BulkAct, Decision, Document, Event, Project, Resolution, Span
from annotations.models.project import SecondReview
from annotations.projects.services.labels import merge_labels
from annotations.review.selectors.bulk_rules import BulkRule
from annotations.review.services.bulk import at_once, begin_bulk, plan_bulk, run_bulk
from annotations.review.services.finishing import finish_review, reopen_review
from annotations.review.services.log import Act
from annotations.text.spans import crowd_in
from tests.exchange.brat_files import brat, codes, stage
from tests.factories import change, label_of, make_author, make_member, make_note, make_project, make_set
from tests.worlds.adjudicated import DOCTOR, NAME, act, make_world, own
from tests.worlds.reviewing import check_strings, gold_of, review
from tests.zips import zipped

pytestmark = pytest.mark.django_db
ANN = "T1\tPATIENT 0 11\tMario Rossi\nT2\tPATIENT 0 5\tMario\nT3\tPATIENT 6 11\tRossi\nT4\tCITY 30 36\tTorino\n"
ROSSI, AGE, PLACE = (0, 11, "PATIENT"), (13, 15, "AGE"), (44, 50, "HOSPITAL")


@pytest.fixture
def at_most(monkeypatch):
    def limit(spans, deep=10):
        for module in ("text.spans", "core.spans", "exchange.services.reading"):
            monkeypatch.setattr(f"annotations.{module}.MOST_SPANS", spans)
            monkeypatch.setattr(f"annotations.{module}.DEEPEST", deep)

    return limit


@pytest.fixture
def ward():
    """A note with two suggestions, and a reviewer."""
    project = make_project("covid")
    ward = SimpleNamespace(project=project, rita=make_member(project, "reviewer", "rita"), note=make_note(project))
    ward.run = make_author(project, kind="run", name="rules-1")
    ward.name, ward.place = make_set(ward.note, ward.run, [ROSSI, PLACE], submitted=True).spans.order_by("start")
    ward.do = lambda act, *suggestion, **more: review(ward.note, ward.run, ward.rita, act, *suggestion, **more)
    return ward


def full(call, *given, **named):
    """Whether this call is refused because of the limit."""
    with pytest.raises(ServiceError) as refused:
        call(*given, **named)
    return refused.value.code == "room"


@pytest.mark.parametrize(
    ("spans", "deep", "fragment"), [(3, 10, "4 spans"), (9, 1, "2 spans cover the character at offset 0")]
)
def test_an_import_refuses_a_whole_note_and_takes_the_others(at_most, spans, deep, fragment):
    at_most(spans, deep)
    files = [*brat("a", ann=ANN), *brat("b", text="Mario Rossi, 54 anni, visto a Milano.\n", ann="")]
    project = make_project()
    assert codes(staged.preview_import(stage(project, zipped(files)))) == ["room"]
    report = importing.import_files(project=project, files=files, format="brat", written_as="gold")
    assert (report["notes"], report["refused_notes"], codes(report)) == (1, 1, ["room"])
    assert report["refused"][0]["file"] == "a" and fragment in report["refused"][0]["message"]
    assert list(Document.objects.values_list("name", flat=True)) == ["b"]
    # Without its annotations the note is imported.
    report = importing.import_files(project=project, files=brat("a", ann=ANN), format="brat")
    assert (report["notes"], report["refused"]) == (1, [])


def test_a_reviewer_s_acceptance_and_own_span_meet_the_limit(at_most, ward):
    at_most(1)
    ward.do(Act.ACCEPT, ward.name)
    before = Event.objects.count()
    assert full(ward.do, Act.ACCEPT, ward.place)
    assert full(ward.do, Act.ADD, bounds=(13, 15, label_of(ward.project, "AGE").pk), quote="54")
    assert (gold_of(ward.note), Event.objects.count()) == ([ROSSI], before)
    # Suggestions can still be rejected, and acceptances undone.
    ward.do(Act.REJECT, ward.place)
    ward.do(Act.UNDO)
    ward.do(Act.UNDO)
    ward.do(Act.ACCEPT, ward.place)
    assert gold_of(ward.note) == [PLACE]


def test_a_bulk_act_leaves_suggestions_open_where_the_note_is_full(at_most, ward):
    at_most(1)
    Span.objects.update(confidence=0.9)
    rule = BulkRule("threshold", [ward.run.pk], least=0.0)
    bulk = plan_bulk(project=ward.project, user=ward.rita, rule=rule, act=BulkAct.Act.ACCEPT)
    assert begin_bulk(bulk=bulk, user=ward.rita)
    at_once(bulk, run_bulk)
    assert len(gold_of(ward.note)) == Decision.objects.count() == 1
    assert Span.objects.filter(annotation_set__author=ward.run, decision__isnull=True).count() == 1
    check_strings()


def test_an_adjudicator_s_own_span_meets_the_limit(at_most):
    world = make_world()
    at_most(1)
    act(world, "majority", NAME)
    before = Resolution.objects.count()
    assert full(own, world, DOCTOR, "DOCTOR") and Resolution.objects.count() == before


# ── Sets from before the limits ──────────────────────────────────────────────────────────────────────────────────────


def test_a_set_that_is_too_large_does_not_become_gold(at_most):
    project = make_project("covid")
    ann = make_member(project, user="ann")
    large = make_set(make_note(project), ann, [ROSSI, AGE], submitted=True)
    make_set(make_note(project), ann, [ROSSI], submitted=True)
    at_most(1)
    assert full(make_gold, document=large.document, annotation_set=large, actor=None)
    assert not AnnotationSet.objects.filter(author__kind="gold").exists()
    done = make_gold_bulk(project_id=project.pk, author_id=large.author_id, actor_id=None, progress=silent)
    assert (done["made"], done["kept"]) == (1, 1)
    assert not AnnotationSet.objects.filter(author__kind="gold", document=large.document).exists()


def test_continuing_a_handed_over_review_respects_the_limit(at_most, ward):
    change(ward.project, second_review=SecondReview.BLIND)
    ward.note.project = ward.project
    for suggestion in (ward.name, ward.place):
        ward.do(Act.ACCEPT, suggestion)
    finish_review(document=ward.note, author=ward.run, user=ward.rita)
    other = make_author(ward.project, kind="run", name="crf-1")
    extra = make_set(ward.note, other, [AGE], submitted=True).spans.get()
    review(ward.note, other, make_member(ward.project, "reviewer", "ugo"), Act.ACCEPT, extra)
    reopening = {"document": ward.note, "author": ward.run, "user": ward.rita}
    at_most(2)
    assert full(reopen_review, **reopening) and gold_of(ward.note) == [AGE]
    at_most(3)
    reopen_review(**reopening)
    assert gold_of(ward.note) == [ROSSI, AGE, PLACE]


def test_merging_labels_makes_no_set_larger_or_deeper(at_most):
    project = make_project("covid")
    made = make_set(make_note(project), make_member(project), [(0, 11, "PATIENT"), (0, 11, "DOCTOR"), (0, 5, "DOCTOR")])
    at_most(3, 3)
    merge_labels(source=label_of(project, "DOCTOR"), target=label_of(project, "PATIENT"), actor=None)
    assert made.spans.count() == 2 and crowd_in(made.spans.values_list("start", "end")) is None


def test_an_annotator_begins_without_the_spans_of_a_set_that_is_too_large(at_most, client, ward):
    ann = make_member(ward.project, user="ann")
    note = make_note(ward.project, annotators=[ann])
    make_set(note, ward.run, [ROSSI, AGE], submitted=True)
    Project.objects.update(seed_from=ward.run)
    at_most(1)
    client.force_login(ann)
    assert client.get(f"/projects/covid/notes/{note.pk}/data").json()["spans"] == []
    assert not AnnotationSet.objects.filter(author__user=ann).exists()
