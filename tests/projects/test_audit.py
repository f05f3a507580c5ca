import pytest
from django.urls import reverse

from annotations.annotate.events import SPAN_CHANGED
from annotations.core.services import NOTE_READ
from annotations.exchange.events import NOTES_IMPORTED
from annotations.gold.events import GOLD_MADE
from annotations.gold.services.making import make_gold, withdraw_gold
from annotations.notes.events import NOTES_SEARCHED
from annotations.projects.events import PROJECT_CHANGED
from annotations.projects.selectors.members import Filter, audit_page, details
from annotations.review.events import REVIEW_BULK_DONE, REVIEW_FINISHED
from models_runtime.models import TrainedModel
from models_runtime.runs.events import RUN_STARTED
from models_runtime.training.events import MODEL_RETIRED
from tests import factories as make
from tests.worlds.checks import WORDS_OF_THE_NOTE, check_page

ROSSI = (0, 11, "PATIENT")
AUDIT = reverse("audit", args=["covid"])


@pytest.fixture
def busy(world):
    """Seven events: two by ann, five by the command line."""
    for _ in range(2):
        NOTE_READ.record(actor=world.ann, project_id=world.project.pk, document_id=world.note.pk)
    for n in range(5):
        PROJECT_CHANGED.record(project_id=world.project.pk, data={"fields": [f"f{n}"]})
    NOTE_READ.record(actor=world.out, project_id=world.other.pk)
    return world


def test_managers_see_the_projects_events_newest_first(busy, mia):
    html = check_page(mia.get(AUDIT))
    assert html.count("<tr>") == 8
    assert html.index("fields: f4") < html.index("fields: f0") < html.index("caso-001")
    assert "command line" in html and "out</td>" not in html
    assert "fields: f4" in check_page(mia.get(AUDIT, headers={"HX-Request": "true"}), fragment=True)
    assert "No more events" in check_page(mia.get(f"{AUDIT}?before=1"))


def test_filters_by_verb_and_person(busy, mia):
    rows = {
        f"?verb={NOTE_READ}": 2, f"?person={busy.ann.pk}": 2, "?person=0": 5,
        f"?person={busy.ann.pk}&verb={NOTE_READ}": 2, f"?person={busy.ann.pk}&verb={PROJECT_CHANGED}": 0,
        "?verb=nonsense&person=x": 7,
    }  # fmt: skip
    for query, expected in rows.items():
        assert max(check_page(mia.get(AUDIT + query)).count("<tr>") - 1, 0) == expected, query
    assert "No matching events" in mia.get(f"{AUDIT}?verb={GOLD_MADE}").text


def test_pages_join_without_gap_or_repeat(busy):
    whole = [line.id for line in audit_page(busy.project, Filter()).lines]
    page = audit_page(busy.project, Filter(), size=3)
    seen = [line.id for line in page.lines]
    while page.older is not None:
        page = audit_page(busy.project, Filter(), older_than=page.older, size=3)
        seen += [line.id for line in page.lines]
    assert seen == whole
    assert [line.id for line in audit_page(busy.project, Filter(), newer_than=page.newer, size=3).lines] == whole[3:6]


def test_spans_show_as_offsets_and_label_never_as_text(world, mia):
    patient, date = (make.label_of(world.project, name).pk for name in ("PATIENT", "DATE"))
    data = {"kind": "undo", "span": 5, "before": [0, 11, patient], "after": [0, 5, date]}
    SPAN_CHANGED.record(actor=world.ann, project_id=world.project.pk, document_id=world.note.pk, data=data)
    annotation_set = make.make_set(world.note, world.ann, [ROSSI], submitted=True)
    make_gold(document=world.note, annotation_set=annotation_set, actor=world.rev)
    withdraw_gold(document=world.note, actor=world.rev)
    html = check_page(mia.get(AUDIT))
    for words in ("0–11 PATIENT → 0–5 DATE (undo)", "annotations of ann, spans: 1", "removed: 1"):
        assert words in html
    assert not any(word in html for word in WORDS_OF_THE_NOTE)


def test_things_show_by_name_and_never_by_id(world, mia):
    run = make.make_author(world.project, kind="run", name="rules-7")
    patient = make.label_of(world.project, "PATIENT")
    model = TrainedModel.objects.create(project=world.project, name="crf-9", backend="crf")
    own = {"actor": world.mia, "project_id": world.project.pk}
    rule = {"kind": "threshold", "runs": [run.pk], "label": patient.pk, "least": 0.5}
    events = [
        NOTES_IMPORTED.record(data={"import": 71, "format": "brat", "as": "run", "author": run.pk, "notes": 2}, **own),
        NOTES_SEARCHED.record(data={"notes": [world.note.pk], "label": patient.pk}, **own),
        REVIEW_BULK_DONE.record(data={"bulk": "6f0c", "act": "accept", "rule": rule}, **own),
        REVIEW_FINISHED.record(data={"run": run.pk, "first": world.rev.pk, "handover": 72}, **own),
        RUN_STARTED.record(data={"author": run.pk, "backend": f"model:{model.pk}", "notes": 3}, **own),
        MODEL_RETIRED.record(data={"model": model.pk}, **own),
    ]
    lines = {line.id: line.details for line in audit_page(world.project, Filter()).lines}
    assert [lines[event.pk] for event in events] == [
        "format: brat, as: run, author: rules-7, notes: 2", "label: PATIENT, notes: 1",
        "act: accept, rule: kind threshold; runs rules-7; label PATIENT; least 0.5", "first: rev, run: rules-7",
        "author: rules-7, backend: crf-9, notes: 3", "model: crf-9",
    ]  # fmt: skip
    html = check_page(mia.get(AUDIT))
    assert "rules-7" in html and "model: crf-9" in html


def test_erased_notes_keep_their_number(busy, mia):
    pk = busy.note.pk
    busy.note.delete()
    html = check_page(mia.get(AUDIT))
    assert f"note {pk}, erased" in html and reverse("note", args=["covid", pk]) not in html


def test_details_as_text():
    for data, words in (
        ({"notes": 1234, "reason": ""}, "notes: 1,234"), ({"before": None, "after": [3, 9, 1]}, "3–9 PATIENT"),
        ({"before": {"name": "A"}, "after": {"name": "B"}}, "before: name A, after: name B"),
        ({"documents": list(range(40))}, "documents: 40"),
        ({"notes": [4, 5], "bounds": [0, 11]}, "bounds: 0 11, notes: 2"),
        ({"flag": 8, "reason": "unsure"}, "reason: unsure"), ({"set": 8}, "deleted annotation set 8"),
        ({"reason": "x" * 300}, f"reason: {'x' * 119}…"),
    ):  # fmt: skip
        assert details(data, {1: "PATIENT"}, {}) == words
