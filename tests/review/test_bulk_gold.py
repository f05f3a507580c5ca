"""Bulk acts and gold that a person made: every way in skips it, says so, and takes it along only when asked."""

import json
import uuid
from types import SimpleNamespace

import pytest
from django.urls import reverse
from django.utils import timezone

from annotations.gold.services.making import freeze, make_gold
from annotations.jobs.runner import run as run_job
from annotations.models import AnnotationSet, BulkAct, Decision, Event, Job, ProposedString, Span, Verb
from annotations.review.services.closing import close_review, reopen_review
from annotations.review.services.deciding import Request, decide
from annotations.review.services.log import Act
from tests import factories as make
from tests.worlds.checks import check_page

TEXT = "Mario Rossi vive in CALLE Mayor 12 2B, Torino. Lo visita Mario Rossi."
NAME, STREET, LONGER, AGAIN = (0, 11, "PATIENT"), (20, 34, "CITY"), (20, 37, "CITY"), (57, 68, "PATIENT")
PROPOSED = [NAME, LONGER, AGAIN]
ADJUDICATED = 5


def url(name: str, *args: object) -> str:
    return reverse(name, args=["covid", *args])


@pytest.fixture
def ward(world: SimpleNamespace, sign_in) -> SimpleNamespace:
    """Six notes that two runs read alike; five are adjudicated and gold, and a version of it is frozen.

    The adjudicator said that the second name is none, and that the street ends before the floor.
    """
    world.client = sign_in(world.rev)
    world.runs = [make.make_author(world.project, kind="run", name=name) for name in ("rules-1", "crf-1")]
    world.notes = [make.make_note(world.project, TEXT) for _ in range(ADJUDICATED + 1)]
    adjudicator = make.make_author(world.project, kind="adjudicated", name="adjudicated")
    for note in world.notes[:ADJUDICATED]:
        own = make.make_set(note, adjudicator, [NAME, STREET], submitted=True)
        data = {"set": own.pk, "version": own.version}
        assert world.client.post(url("note_gold", note.pk), data).status_code == 302
    for note in world.notes:
        for run in world.runs:
            make.make_set(note, run, PROPOSED, submitted=True)
    Span.objects.filter(annotation_set__author__in=world.runs).update(confidence=0.95)
    world.labels = {label.name: label.pk for label in world.project.label_set.labels.all()}
    world.frozen = freeze(project=world.project, actor=world.mia)[0]
    return world


def gold_of(note) -> list[tuple[int, int, str]]:
    rows = Span.objects.filter(annotation_set__document=note, annotation_set__author__kind="gold")
    return list(rows.order_by("start").values_list("start", "end", "label__name"))


def check_adjudicated(ward) -> None:
    """Not one of the adjudicated notes has changed."""
    assert [gold_of(note) for note in ward.notes[:ADJUDICATED]] == [[NAME, STREET]] * ADJUDICATED
    touched = Event.objects.filter(verb=Verb.REVIEW_DECIDED, document_id__in=[n.pk for n in ward.notes[:ADJUDICATED]])
    assert not touched.exists()


def plan(ward, **data) -> BulkAct:
    known = {"kind": "threshold", "runs": [ward.runs[0].pk], "least": "90", "agree": "2", "act": "accept"}
    assert ward.client.post(url("review_bulk_new"), known | data).status_code == 303
    return BulkAct.objects.order_by("created_at").last()


def start(ward, bulk: BulkAct, **data) -> BulkAct:
    assert ward.client.post(url("bulk_start", bulk.pk), data).status_code == 302
    bulk.refresh_from_db()
    return bulk


def close(ward, note, *, rest, run=0, **data):
    path = url("review_close", ward.runs[run].pk, note.pk)
    body = {"person": ward.rev.pk, "stage": "first", "rest": rest} | data
    return ward.client.post(path, json.dumps(body), content_type="application/json")


def proposals(ward, note, run=0) -> list[Span]:
    return list(
        Span.objects.filter(annotation_set__document=note, annotation_set__author=ward.runs[run]).order_by("start")
    )


# ── Skipped, counted, said ───────────────────────────────────────────────────────────────────────────────────────────


def test_by_rule_adjudicated_notes_are_skipped_and_the_frozen_version_still_holds(ward):
    """The reproduction: rules at 90 % over five adjudicated notes."""
    bulk = plan(ward)
    page = ward.client.get(url("review_bulk", bulk.pk))
    html = check_page(page)
    assert "10 open proposals lie in 5 notes that already have gold; they are skipped." in html
    assert "Accept 3 proposals" in html
    assert (page.context["count"], bulk.planned, bulk.skipped, bulk.skipped_notes) == (3, 3, 10, 5)
    start(ward, bulk)
    assert (bulk.state, bulk.decided, bulk.skipped, bulk.skipped_notes, bulk.left) == ("done", 3, 10, 5, 0)
    check_adjudicated(ward)
    assert gold_of(ward.notes[-1]) == PROPOSED
    assert freeze(project=ward.project, actor=ward.mia)[0] == ward.frozen, "a draft does not count yet"
    told = Event.objects.get(verb=Verb.REVIEW_BULK_DONE).data
    assert (told["skipped"], told["skipped_notes"], told["rule"]["with_gold"]) == (10, 5, False)
    html = check_page(ward.client.get(url("review_bulk", bulk.pk)))
    assert "Skipped: their notes have gold" in html
    assert "10 <small>in 5 notes</small>" in html


def test_one_skipped_proposal_is_one_proposal(ward):
    """Two notes are left: one with gold, one without."""
    for note in ward.notes[1:ADJUDICATED]:
        note.delete()
    bulk = plan(ward, label=ward.labels["CITY"])
    html = check_page(ward.client.get(url("review_bulk", bulk.pk)))
    assert "1 open proposal lies in a note that already has gold; it is skipped." in html
    start(ward, plan(ward, label=ward.labels["CITY"]), with_gold="1")
    html = check_page(ward.client.get(url("review_bulk", BulkAct.objects.order_by("created_at").last().pk)))
    assert '<dd id="skipped">0</dd>' in html


def test_by_string_adjudicated_notes_are_skipped(ward):
    string = ProposedString.objects.get(author=ward.runs[0], label_id=ward.labels["CITY"])
    here = f"{url('review_string', string.pk)}?run={ward.runs[0].pk}"
    html = check_page(ward.client.get(here))
    assert "5 open proposals lie in 5 notes that already have gold; they are skipped." in html
    assert html.count("its note has gold") == ADJUDICATED
    shown = [row.alias for row in ward.client.get(here).context["rows"]]
    ward.client.post(here, {"act": "accept", "shown": shown, "tick": shown})
    bulk = start(ward, BulkAct.objects.get())
    assert (bulk.decided, bulk.skipped, bulk.skipped_notes) == (1, 5, 5)
    check_adjudicated(ward)


def test_what_several_runs_agree_on_skips_them_too(ward):
    bulk = start(ward, plan(ward, kind="agreed", runs=[run.pk for run in ward.runs]))
    assert (bulk.decided, bulk.skipped, bulk.skipped_notes) == (6, 20, 5)
    check_adjudicated(ward)


@pytest.mark.parametrize("kind", ["threshold", "agreed"])
def test_a_merged_list_skips_them_too(ward, kind):
    merged = make.make_author(ward.project, kind="run", name="both")
    merged.merged_from = [run.pk for run in ward.runs]
    merged.save()
    how = {"runs": [{"run": run.pk, "confidence": 0.9, "source": ""} for run in ward.runs], "agree": 2, "of": 2}
    for note in ward.notes:
        make.make_set(note, merged, PROPOSED, submitted=True)
    Span.objects.filter(annotation_set__author=merged).update(provenance=how | {"clear": 2}, confidence=0.95)
    bulk = start(ward, plan(ward, kind=kind, runs=[merged.pk]))
    assert (bulk.decided, bulk.skipped, bulk.skipped_notes) == (3, 10, 5)
    check_adjudicated(ward)


def test_rejecting_in_bulk_skips_them_too(ward):
    bulk = plan(ward, act="reject")
    assert "they are skipped" in check_page(ward.client.get(url("review_bulk", bulk.pk)))
    assert (start(ward, bulk).decided, bulk.skipped) == (3, 10)
    check_adjudicated(ward)


def test_a_job_skips_them_too(ward, monkeypatch):
    for module in ("annotations.review.services.starting", "annotations.review.views.bulk"):
        monkeypatch.setattr(f"{module}.AT_ONCE", 1)
    start(ward, plan(ward))
    job = Job.objects.get()
    run_job(job.pk)
    job.refresh_from_db()
    assert (job.state, job.result["decided"], job.result["skipped"], job.result["skipped_notes"]) == ("done", 3, 10, 5)
    check_adjudicated(ward)


@pytest.mark.parametrize("how", ["annotator", "import", "review", "unsubmitted"])
def test_gold_counts_however_a_person_made_it(ward, how):
    note, run = ward.notes[-1], ward.runs[1]
    if how == "annotator":
        own = make.make_set(note, ward.ann, [NAME], submitted=True)
        ward.client.post(url("note_gold", note.pk), {"set": own.pk, "version": own.version})
    elif how == "import":
        author = AnnotationSet.objects.filter(author__kind="gold").first().author
        make.make_set(note, author, [NAME], submitted=True, submitted_at=timezone.now())
    else:
        for span in proposals(ward, note, run=1):
            act = Act.ACCEPT if span.start == 0 else Act.REJECT
            decide(
                document=note, author=run, user=ward.mia,
                request=Request(change_id=uuid.uuid4(), act=act, proposal=span.pk),
            )  # fmt: skip
        close_review(document=note, author=run, user=ward.mia)
    if how == "unsubmitted":  # as when a second person must confirm a change to finished gold
        AnnotationSet.objects.filter(document=note, author__kind="gold").update(state="draft")
    assert gold_of(note) == [NAME]
    bulk = plan(ward)
    assert (bulk.planned, bulk.skipped, bulk.skipped_notes) == (0, 12, 6)
    start(ward, bulk)
    assert gold_of(note) == [NAME]
    check_adjudicated(ward)


def test_an_open_review_of_another_run_is_no_gold_yet(ward):
    note = ward.notes[-1]
    request = Request(change_id=uuid.uuid4(), act=Act.ACCEPT, proposal=proposals(ward, note, run=1)[0].pk)
    decide(document=note, author=ward.runs[1], user=ward.mia, request=request)
    assert (start(ward, plan(ward)).decided, gold_of(note)) == (2, PROPOSED)


def test_gold_that_somebody_makes_after_the_plan_is_skipped_and_the_outcome_says_so(ward):
    bulk = plan(ward)
    note = ward.notes[-1]
    own = make.make_set(note, ward.ann, [NAME], submitted=True)
    ward.client.post(url("note_gold", note.pk), {"set": own.pk, "version": own.version})
    start(ward, bulk)
    assert (bulk.planned, bulk.decided, bulk.left, bulk.skipped, bulk.skipped_notes) == (3, 0, 3, 12, 6)
    assert gold_of(note) == [NAME]
    assert "its note got gold meanwhile" in check_page(ward.client.get(url("review_bulk", bulk.pk)))


# ── Included by choice ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_ticked_box_includes_them_and_overlaps_stay_open(ward):
    bulk = plan(ward)
    html = check_page(ward.client.get(url("review_bulk", bulk.pk)))
    assert "Also accept 5 proposals in notes that already have gold" in html
    start(ward, bulk, with_gold="1")
    assert (bulk.planned, bulk.decided, bulk.skipped, bulk.conflicts, bulk.left) == (8, 8, 0, 5, 0)
    assert [gold_of(note) for note in ward.notes] == [[NAME, STREET, AGAIN]] * ADJUDICATED + [PROPOSED]
    told = Event.objects.get(verb=Verb.REVIEW_BULK_DONE)
    assert (told.actor, told.data["rule"]["with_gold"], told.data["conflicts"]) == (ward.rev, True, 5)
    html = check_page(ward.client.get(url("review_bulk", bulk.pk)))
    assert "Notes that already had gold were included." in html
    assert "Conflicts, left open" in html
    ward.client.post(url("bulk_undo", bulk.pk))
    bulk.refresh_from_db()
    assert (bulk.state, bulk.taken_back, bulk.kept) == ("undone", 8, 0)
    assert [gold_of(note) for note in ward.notes] == [[NAME, STREET]] * ADJUDICATED + [[]]
    assert freeze(project=ward.project, actor=ward.mia)[0] == ward.frozen


def test_where_all_of_it_is_skipped_the_box_must_be_ticked(ward):
    start(ward, plan(ward))
    bulk = plan(ward)
    assert (bulk.planned, bulk.skipped) == (0, 10)
    html = check_page(ward.client.get(url("review_bulk", bulk.pk)))
    assert 'id="with-gold" autocomplete="off" required' in html
    start(ward, bulk)  # a request without it decides nothing
    assert bulk.decided == 0
    check_adjudicated(ward)


def test_what_only_conflicts_can_not_be_done_in_bulk(ward):
    bulk = plan(ward, label=ward.labels["CITY"])
    start(ward, bulk)
    bulk = plan(ward, label=ward.labels["CITY"])
    assert "Decide on them note by note" in check_page(ward.client.get(url("review_bulk", bulk.pk)))
    start(ward, bulk, with_gold="1")
    assert (bulk.decided, bulk.conflicts) == (0, 5)
    check_adjudicated(ward)


def test_two_ends_of_one_street_are_left_to_a_person(ward):
    """Neither run is known to be right: none of the two readings becomes gold, nor one beside the other later."""
    note = ward.notes[-1]
    short = proposals(ward, note, run=1)[1]
    Span.objects.filter(pk=short.pk).update(end=STREET[1])
    bulk = plan(ward, runs=[run.pk for run in ward.runs])
    page = ward.client.get(url("review_bulk", bulk.pk))
    assert "other ends is a conflict and stays open" in check_page(page)
    assert (page.context["count"], page.context["found"].conflicts) == (4, 2)
    start(ward, bulk)
    assert (bulk.planned, bulk.decided, bulk.conflicts, bulk.left) == (4, 4, 2, 0)
    assert gold_of(note) == [NAME, AGAIN]
    decide(
        document=note, author=ward.runs[1], user=ward.rev,
        request=Request(change_id=uuid.uuid4(), act=Act.ACCEPT, proposal=short.pk),
    )  # fmt: skip
    assert plan(ward).conflicts == 1
    assert gold_of(note) == [NAME, STREET, AGAIN]


def test_too_many_to_look_for_conflicts_are_told_afterwards(ward, monkeypatch):
    monkeypatch.setattr("annotations.review.selectors.foreseen.MOST", 1)
    note = ward.notes[-1]
    Span.objects.filter(pk=proposals(ward, note, run=1)[1].pk).update(end=STREET[1])
    bulk = plan(ward, runs=[run.pk for run in ward.runs])
    assert "the outcome lists them" in check_page(ward.client.get(url("review_bulk", bulk.pk)))
    start(ward, bulk)
    assert (bulk.planned, bulk.decided, bulk.conflicts, bulk.left) == (6, 4, 2, 2)


# ── One note on its page ─────────────────────────────────────────────────────────────────────────────────────────────


def test_the_page_of_a_note_says_that_it_has_gold(ward):
    page = ward.client.get(url("review", ward.runs[0].pk, ward.notes[0].pk))
    html = check_page(page)
    assert "This note already has gold, made by adjudication." in html
    assert 'id="with-gold"' in html
    other = check_page(ward.client.get(url("review", ward.runs[0].pk, ward.notes[-1].pk)))
    assert "already has gold" not in other


@pytest.mark.parametrize("how", ["annotator", "review", "import"])
def test_the_page_says_how_the_gold_was_made(ward, how):
    note = ward.notes[-1]
    if how == "annotator":
        make_gold(document=note, annotation_set=make.make_set(note, ward.ann, [NAME], submitted=True), actor=ward.mia)
    elif how == "review":
        rest = {span.pk for span in proposals(ward, note)}
        close_review(document=note, author=ward.runs[0], user=ward.mia, rest=rest)
        assert "already has gold" not in check_page(ward.client.get(url("review", ward.runs[0].pk, note.pk)))
        reopen_review(document=note, author=ward.runs[0], user=ward.mia)
    else:
        author = AnnotationSet.objects.filter(author__kind="gold").first().author
        make.make_set(note, author, [NAME], submitted=True)
    words = {"annotator": "from an annotator", "review": "by a finished review", "import": "which was imported"}
    assert words[how] in check_page(ward.client.get(url("review", ward.runs[0].pk, note.pk)))


def test_accepting_the_rest_of_a_note_with_gold_is_refused_unless_asked_for(ward):
    note = ward.notes[0]
    _, street, again = proposals(ward, note)
    answer = close(ward, note, rest=[street.pk, again.pk])
    assert (answer.status_code, answer.json()["error"]) == (409, "gold")
    check_adjudicated(ward)
    answer = close(ward, note, rest=[street.pk, again.pk], with_gold=True)
    assert (answer.status_code, answer.json()["error"]) == (409, "conflict")
    assert "1 proposal overlaps another span with other ends" in answer.json()["message"]
    check_adjudicated(ward)
    request = Request(change_id=uuid.uuid4(), act=Act.REJECT, proposal=street.pk)
    decide(document=note, author=ward.runs[0], user=ward.rev, request=request)
    assert close(ward, note, rest=[again.pk]).json()["error"] == "gold"
    assert close(ward, note, rest=[again.pk], with_gold=True).json()["next"]
    assert gold_of(note) == [NAME, STREET, AGAIN]
    event = Event.objects.filter(verb=Verb.REVIEW_DECIDED, document_id=note.pk).last()
    assert (event.data["rest"], event.data["with_gold"]) == (True, True)


def test_accepting_the_rest_never_puts_two_ends_of_one_place_side_by_side(ward):
    note = ward.notes[-1]
    spans = proposals(ward, note)
    request = Request(change_id=uuid.uuid4(), act=Act.ADD, place=(20, 34, ward.labels["CITY"]), quote=TEXT[20:34])
    decide(document=note, author=ward.runs[0], user=ward.rev, request=request)
    answer = close(ward, note, rest=[span.pk for span in spans])
    assert (answer.status_code, answer.json()["error"]) == (409, "conflict")
    assert gold_of(note) == [STREET]


# ── Taken back ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_taking_an_act_back_leaves_gold_that_was_confirmed_since(ward):
    """Adjudication said the same as the bulk act afterwards: that is its gold now."""
    note = ward.notes[-1]
    bulk = start(ward, plan(ward))
    adjudicator = make.make_author(ward.project, kind="adjudicated", name="adjudicated")
    own = make.make_set(note, adjudicator, PROPOSED, submitted=True)
    ward.client.post(url("note_gold", note.pk), {"set": own.pk, "version": own.version})
    assert Event.objects.filter(verb=Verb.GOLD_MADE, document_id=note.pk).count() == 1
    ward.client.post(url("bulk_undo", bulk.pk))
    bulk.refresh_from_db()
    assert (bulk.taken_back, bulk.kept) == (0, 3)
    assert gold_of(note) == PROPOSED
    assert Decision.objects.filter(cause=bulk).count() == 3


def test_an_act_can_be_taken_back_in_a_note_that_was_reviewed_and_reopened_since(ward):
    note = ward.notes[-1]
    bulk = start(ward, plan(ward))
    close_review(document=note, author=ward.runs[0], user=ward.mia)
    reopen_review(document=note, author=ward.runs[0], user=ward.mia)
    ward.client.post(url("bulk_undo", bulk.pk))
    bulk.refresh_from_db()
    assert (bulk.taken_back, bulk.kept, gold_of(note)) == (3, 0, [])
