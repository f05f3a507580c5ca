"""Bulk acts skip notes whose gold a person made, say so, and include these notes only on request."""

from types import SimpleNamespace

import pytest
from django.utils import timezone

from annotations.gold.events import GOLD_MADE
from annotations.gold.services.making import freeze, make_gold
from annotations.models import AnnotationSet, BulkAct, Decision, Event, Span, SuggestedString
from annotations.review.events import REVIEW_BULK_DONE, REVIEW_DECIDED
from annotations.review.services.finishing import finish_review
from annotations.review.services.log import Act
from tests import factories as make
from tests.held import made_once
from tests.worlds.checks import check_page
from tests.worlds.pages import url
from tests.worlds.reviewing import bulk_page, finish, gold_of, plan, review, start, suggested_world, suggestions

TEXT = "Mario Rossi vive in CALLE Mayor 12 2B, Torino. Lo visita Mario Rossi."
NAME, STREET, LONGER, AGAIN = (0, 11, "PATIENT"), (20, 34, "CITY"), (20, 37, "CITY"), (57, 68, "PATIENT")
SUGGESTED = [NAME, LONGER, AGAIN]
ADJUDICATED = 5


def make_ward() -> SimpleNamespace:
    """Six notes with the same suggestions of two runs. Five have adjudicated gold, and a gold version is frozen.

    The adjudicator rejected the second name, and ended the street before the floor number.
    """
    world = suggested_world(ADJUDICATED + 1, TEXT, rules_1=SUGGESTED, crf_1=SUGGESTED)
    adjudicator = make.make_author(world.project, kind="adjudicated", name="adjudicated")
    for note in world.notes[:ADJUDICATED]:
        own = make.make_set(note, adjudicator, [NAME, STREET], submitted=True)
        make_gold(document=note, annotation_set=own, actor=world.rev)
    world.frozen = freeze(project=world.project, actor=world.mia)[0]
    return world


made, ward = made_once(make_ward)


def check_adjudicated(ward) -> None:
    """Check that no adjudicated note has changed."""
    adjudicated = ward.notes[:ADJUDICATED]
    assert [gold_of(note) for note in adjudicated] == [[NAME, STREET]] * ADJUDICATED
    assert not Event.objects.filter(verb=REVIEW_DECIDED, document_id__in=[note.pk for note in adjudicated]).exists()


def make_gold_of_ann(ward, note) -> None:
    own = make.make_set(note, ward.ann, [NAME], submitted=True)
    ward.client.post(url("note_gold", note.pk), {"set": own.pk, "version": own.version})


# ── Skipped by default ───────────────────────────────────────────────────────────────────────────────────────────────


def test_by_rule_adjudicated_notes_are_skipped_and_the_frozen_version_still_holds(ward):
    bulk = plan(ward)
    assert "10 open suggestions are skipped because their 5 notes already have gold." in bulk_page(ward, bulk)
    assert (bulk.planned, bulk.skipped, bulk.skipped_notes) == (3, 10, 5)
    start(ward, bulk)
    assert (bulk.state, bulk.decided, bulk.skipped, bulk.skipped_notes, bulk.left) == ("done", 3, 10, 5, 0)
    check_adjudicated(ward)
    assert gold_of(ward.notes[-1]) == SUGGESTED
    assert freeze(project=ward.project, actor=ward.mia)[0] == ward.frozen, "a draft does not count"
    data = Event.objects.get(verb=REVIEW_BULK_DONE).data
    assert (data["skipped"], data["skipped_notes"], data["rule"]["with_gold"]) == (10, 5, False)
    assert "10 <small>in 5 notes</small>" in bulk_page(ward, bulk)
    # All suggestions that are left are in notes with gold, so the box is required. Without it, nothing is decided.
    bulk = plan(ward)
    assert (bulk.planned, bulk.skipped) == (0, 10)
    assert 'id="with-gold" autocomplete="off" required' in bulk_page(ward, bulk)
    assert start(ward, bulk).decided == 0
    check_adjudicated(ward)


@pytest.mark.parametrize(("label", "elsewhere"), [("CITY", 1), ("PATIENT", 2)])
def test_by_string_adjudicated_notes_are_skipped(ward, label, elsewhere):
    """A street that was adjudicated with another end, and a name of which one occurrence was rejected."""
    string = SuggestedString.objects.get(author=ward.runs[0], label_id=ward.labels[label])
    here = f"{url('review_string', string.pk)}?run={ward.runs[0].pk}"
    page = ward.client.get(here)
    html = check_page(page)
    assert "5 open suggestions are skipped because their 5 notes already have gold." in html
    assert html.count(">note has gold<") >= ADJUDICATED
    shown = [row.alias for row in page.context["rows"]]
    ward.client.post(here, {"act": "accept", "shown": shown, "tick": shown})
    bulk = start(ward, BulkAct.objects.get())
    assert (bulk.decided, bulk.skipped, bulk.skipped_notes) == (elsewhere, 5, 5)
    check_adjudicated(ward)


@pytest.mark.parametrize(
    ("rule", "decided", "skipped"), [({"act": "reject"}, 3, 10), ({"kind": "agreed"}, 6, 20)], ids=["reject", "agreed"]
)
def test_rejecting_and_the_agreement_of_runs_skip_adjudicated_notes(ward, rule, decided, skipped):
    runs = {"runs": [run.pk for run in ward.runs]} if "kind" in rule else {}
    bulk = start(ward, plan(ward, **rule | runs))
    assert (bulk.decided, bulk.skipped, bulk.skipped_notes) == (decided, skipped, 5)
    check_adjudicated(ward)


@pytest.mark.parametrize("kind", ["threshold", "agreed"])
def test_in_a_merged_list_adjudicated_notes_are_skipped(ward, kind):
    merged = make.make_author(ward.project, kind="run", name="both")
    make.change(merged, merged_from=[run.pk for run in ward.runs])
    how = {"runs": [{"run": run.pk, "confidence": 0.9, "source": ""} for run in ward.runs], "agree": 2, "of": 2}
    for note in ward.notes:
        make.make_set(note, merged, SUGGESTED, submitted=True)
    Span.objects.filter(annotation_set__author=merged).update(provenance=how | {"clear": 2}, confidence=0.95)
    bulk = start(ward, plan(ward, kind=kind, runs=[merged.pk]))
    assert (bulk.decided, bulk.skipped, bulk.skipped_notes) == (3, 10, 5)
    check_adjudicated(ward)


@pytest.mark.parametrize(
    ("how", "said"),
    [("annotator", "from an annotator"), ("import", "which was imported"), ("review", ""), ("unsubmitted", "")],
)
def test_notes_are_skipped_however_a_person_made_their_gold(ward, how, said):
    """The page of the note says how its gold was made."""
    note, run = ward.notes[-1], ward.runs[1]
    if how == "annotator":
        make_gold_of_ann(ward, note)
    elif how == "import":
        author = AnnotationSet.objects.filter(author__kind="gold").first().author
        make.make_set(note, author, [NAME], submitted=True, submitted_at=timezone.now())
    else:
        for span in suggestions(note, run):
            review(note, run, ward.mia, Act.ACCEPT if span.start == 0 else Act.REJECT, span)
        finish_review(document=note, author=run, user=ward.mia)
    if how == "unsubmitted":  # as after a change that a second person must confirm
        AnnotationSet.objects.filter(document=note, author__kind="gold").update(state="draft")
    assert gold_of(note) == [NAME]
    bulk = plan(ward)
    assert (bulk.planned, bulk.skipped, bulk.skipped_notes) == (0, 12, 6)
    start(ward, bulk)
    assert gold_of(note) == [NAME]
    check_adjudicated(ward)
    assert said in check_page(ward.client.get(url("review", ward.runs[0].pk, note.pk)))


def test_an_unfinished_review_of_another_run_is_not_skipped(ward):
    note = ward.notes[-1]
    review(note, ward.runs[1], ward.mia, Act.ACCEPT, suggestions(note, ward.runs[1])[0])
    assert (start(ward, plan(ward)).decided, gold_of(note)) == (2, SUGGESTED)


# ── Included on request ──────────────────────────────────────────────────────────────────────────────────────────────


def test_a_selected_box_includes_notes_with_gold_and_overlaps_stay_open(ward):
    bulk = plan(ward)
    assert "Also accept 5 suggestions in notes that already have gold" in bulk_page(ward, bulk)
    start(ward, bulk, with_gold="1")
    assert (bulk.planned, bulk.decided, bulk.skipped, bulk.conflicts, bulk.left) == (8, 8, 0, 5, 0)
    assert [gold_of(note) for note in ward.notes] == [[NAME, STREET, AGAIN]] * ADJUDICATED + [SUGGESTED]
    event = Event.objects.get(verb=REVIEW_BULK_DONE)
    assert (event.actor, event.data["rule"]["with_gold"], event.data["conflicts"]) == (ward.rev, True, 5)
    assert "Conflicts (left open)" in bulk_page(ward, bulk)
    start(ward, bulk, "bulk_undo")
    assert (bulk.state, bulk.undone, bulk.kept) == ("undone", 8, 0)
    assert [gold_of(note) for note in ward.notes] == [[NAME, STREET]] * ADJUDICATED + [[]]
    assert freeze(project=ward.project, actor=ward.mia)[0] == ward.frozen


# ── One note on its page ─────────────────────────────────────────────────────────────────────────────────────────────


def test_accepting_the_rest_of_a_note_with_gold_needs_permission(ward):
    note, run = ward.notes[0], ward.runs[0]
    _, street, again = suggestions(note, run)
    for more, code in (({}, "gold"), ({"with_gold": True}, "conflict")):
        answer = finish(ward, note, rest=[street.pk, again.pk], **more)
        assert (answer.status, answer.json["error"]) == (409, code)
        check_adjudicated(ward)
    review(note, run, ward.rev, Act.REJECT, street)
    assert finish(ward, note, rest=[again.pk]).json["error"] == "gold"
    assert finish(ward, note, rest=[again.pk], with_gold=True).json["next"]
    assert gold_of(note) == [NAME, STREET, AGAIN]
    event = Event.objects.filter(verb=REVIEW_DECIDED, document_id=note.pk).last()
    assert (event.data["rest"], event.data["with_gold"]) == (True, True)


def test_accepting_the_rest_never_adds_two_ends_of_one_span(ward):
    note, run = ward.notes[-1], ward.runs[0]
    review(note, run, ward.rev, Act.ADD, bounds=(20, 34, ward.labels["CITY"]), quote=TEXT[20:34])
    answer = finish(ward, note, rest=[span.pk for span in suggestions(note, run)])
    assert (answer.status, answer.json["error"]) == (409, "conflict")
    assert gold_of(note) == [STREET]


# ── Undo ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_undo_keeps_gold_that_was_confirmed_since(ward):
    """A later adjudication with the same result owns the gold now."""
    note = ward.notes[-1]
    bulk = start(ward, plan(ward))
    adjudicator = make.make_author(ward.project, kind="adjudicated", name="adjudicated")
    own = make.make_set(note, adjudicator, SUGGESTED, submitted=True)
    ward.client.post(url("note_gold", note.pk), {"set": own.pk, "version": own.version})
    assert Event.objects.filter(verb=GOLD_MADE, document_id=note.pk).count() == 1
    start(ward, bulk, "bulk_undo")
    assert (bulk.undone, bulk.kept, gold_of(note)) == (0, 3, SUGGESTED)
    assert Decision.objects.filter(cause=bulk).count() == 3
