"""The overview of a project, as each role sees it: what waits, stages, agreement, people, scores, and the checklist."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.core.management import call_command
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotations import models
from annotations.agreement.rules.units import ComparedUnit
from annotations.agreement.services.figures import figures_of
from annotations.core import overview
from annotations.core.services import NOTE_READ, silent
from annotations.exchange.services.exporting import run_export
from annotations.gold.services.making import freeze, make_gold
from annotations.scores.services.scoring import score, score_request
from tests import factories as make
from tests.projects.overview_pages import plain, rows, section, show, stages
from tests.worlds.pages import url

SPAN = [(0, 11, "PATIENT")]
STEPS = [
    "Import notes", "Add people", "Write the guidelines", "Annotate a pilot of 2 notes", "Measure agreement",
    "Adjudicate", "Make gold", "Freeze a version", "Run a model", "Review suggestions", "Export",
]  # fmt: skip
NEEDS, REPLIES = "Needs you", "Replies to you"
LONG_AGO = timezone.now() - timedelta(days=30)


@pytest.fixture
def mia(world, sign_in):
    """A manager, whose project has guidelines."""
    make.change(world.project, guidelines="Mark names.")
    return sign_in(world.mia)


@pytest.fixture
def run(world):
    return make.make_author(world.project, kind="run", name="rules-1")


def submit(world, *people):
    """Let these people submit all notes of the world."""
    for note in world.notes:
        for person in people:
            make.make_set(note, person, SPAN, submitted=True, submitted_at="2026-01-01T00:00Z")


def adjudicate(world, note):
    author = make.make_author(world.project, kind=models.AuthorKind.ADJUDICATED, name="adjudicated")
    return make.make_set(note, author, SPAN, submitted=True)


def needs(client):
    """What waits for a person: addresses, each with the first two words."""
    return {address: " ".join(text.split()[:2]) for text, address in rows(show(client), NEEDS).items()}


def golden(world, note, annotation_set=None):
    made = annotation_set or models.AnnotationSet.objects.filter(document=note).first()
    make_gold(document=note, annotation_set=made, actor=world.mia, replace=True)


def frozen(world):
    freeze(project=world.project, actor=world.mia)


def finish(note, author, by=None):
    models.Review.objects.create(document=note, author=author, finished_at=timezone.now(), finished_by=by)


# ── A manager ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_notes_to_adjudicate_and_missing_guidelines(world, sign_in, monkeypatch):
    client = sign_in(world.mia)
    assert needs(client) == {url("guidelines_edit"): "The guidelines"}
    models.Project.objects.update(guidelines="Mark names.")
    submit(world, world.ann)
    html = show(client)
    assert section(html, NEEDS) and rows(html, NEEDS) == {}
    submit(world, world.ben)
    assert needs(client) == {url("adjudications"): "2 notes"}
    adjudicate(world, world.note)
    assert needs(client) == {url("adjudications"): "1 note"}
    step = overview.Step("Adjudicate", "Decide.", url("adjudications"), "Adjudicate", done=False)
    monkeypatch.setattr(overview.steps, "of", lambda access: [step])
    assert needs(client) == {}, "the next step says the same"


def test_flagged_notes_and_failed_jobs_of_the_last_days(world, mia):
    for person in (world.ann, world.ben):
        models.Flag.objects.create(document=world.note, user=person, reason=models.Flag.Reason.UNSURE)
    assert needs(mia) == {url("notes") + "?state=flagged": "1 note"}
    now = timezone.now()
    models.Flag.objects.update(cleared_at=now)
    assert needs(mia) == {}
    jobs = (world.project, now), (world.project, now - timedelta(days=8)), (world.other, now)
    for number, (project, at) in enumerate(jobs):
        models.Job.objects.create(project=project, kind="agreement", key=f"{number}", state="failed", finished_at=at)
    assert needs(mia) == {url("jobs"): "1 job"}


def test_idle_people_with_open_notes_are_named(world, mia):
    assert needs(mia) == {}, "new members"
    models.Membership.objects.update(joined_at=LONG_AGO)
    with time_machine.travel(LONG_AGO, tick=False):
        NOTE_READ.record(actor=world.ann, project_id=world.project.pk)
    NOTE_READ.record(actor=world.ann, project_id=world.other.pk)
    NOTE_READ.record(actor=world.ben, project_id=world.project.pk)
    [(text, address)] = rows(show(mia), NEEDS).items()
    assert address == url("people") and text.startswith("1 person") and text.endswith(": ann.")
    # What people do in other projects doesn't count, however much it is.
    for person in [world.ann, world.ben] * 2:
        NOTE_READ.record(actor=person, project_id=world.other.pk)
    html = show(mia)
    assert list(rows(html, NEEDS)) == [text] and "none yet" not in section(html, "People").split("ben")[1]


def test_gold_that_differs_from_the_last_version(world, mia):
    submit(world, world.ann)
    golden(world, world.note)
    [(text, address)] = rows(show(mia), NEEDS).items()
    assert address == url("gold") and "never frozen" in text
    frozen(world)
    assert needs(mia) == {}
    golden(world, world.notes[1])
    [(text, _)] = rows(show(mia), NEEDS).items()
    assert "differs from version 1" in text and "1 span" in text


def test_the_stages_lead_to_their_pages(world, mia, vic):
    submit(world, world.ann, world.ben)
    make.make_note(world.project)
    adjudicate(world, world.note)
    golden(world, world.note)
    places = {"Imported 3": "notes", "Annotated 2": "notes", "Gold 1": "gold", "Frozen – no version yet": "gold"}
    expected = {text: url(name) for text, name in places.items()}
    assert stages(show(mia)) == expected | {"Adjudicated 1": url("adjudications") + "?show=finished"}
    frozen(world)
    assert stages(show(mia))["Frozen v1 same as the current gold"] == url("gold_version", 1)
    found = stages(show(vic))
    assert found["Adjudicated 1"] == "", "viewers may not open the page"
    assert [vic.get(address).status_code for address in found.values() if address] == [200] * 4


def test_stored_agreement_with_its_interval_and_time(world, mia):
    figures_of(project=world.project, unit=ComparedUnit.TOKEN)  # of no note
    assert "not computed yet" in section(show(mia), "Agreement") and "Measure agreement" in open_steps(mia)
    models.Figures.objects.all().delete()
    submit(world, world.ann)
    for note, spans in zip(world.notes, ([(0, 11, "PATIENT")], [(0, 11, "DOCTOR")]), strict=True):
        make.make_set(note, world.ben, spans, submitted=True, submitted_at="2026-01-01T00:00Z")
    models.AnnotationSet.objects.filter(document=world.notes[1]).update(submitted_at="2026-03-01T00:00Z")
    card = section(show(mia), "Agreement")
    assert "not computed yet" in card and url("agreement") in card
    assert not models.Figures.objects.exists(), "the page computes nothing"
    at = datetime(2026, 2, 1, tzinfo=UTC)
    models.Amendment.objects.create(project=world.project, number=1, text="x", guidelines_version=1, at=at)
    alpha = figures_of(project=world.project, unit=ComparedUnit.TOKEN)["granularities"]["subcategory"]["alpha"]
    text = plain(section(show(mia), "Agreement"))
    assert f"α = {alpha['value']:.2f}" in text.replace("−", "-")
    assert "95% interval" in text and "on 2 notes. Computed" in text and "Round 2" in text
    assert "since then" not in text
    models.AnnotationSet.objects.update(submitted_at=timezone.now() + timedelta(minutes=1))
    assert "submitted since then" in section(show(mia), "Agreement")


def open_steps(client):
    """The titles of the steps that are not done, in order."""
    text = plain(section(show(client), "Next step"))
    return [title for title in STEPS if title in text.replace(f"{title} (done)", "")]


def test_a_new_project_shows_the_checklist_only(world, sign_in):
    project = make.make_project("new")
    html = show(sign_in(make.make_member(project, "manager")), "new")
    found = plain(section(html, "Next step"))
    assert [title for title in STEPS if title.replace("2 notes", "10 notes") not in found] == []
    assert reverse("import", args=["new"]) in html and NEEDS not in html and stages(html) == {}
    assert section(html, "Next step").count('class="btn') == 1, "what can't work yet is no button"
    html = show(sign_in(make.make_member(project, "reviewer")), "new")
    assert "No notes yet" in html and "Next step" not in html


def test_each_step_knows_that_it_is_done(world, sign_in, run, tmp_path):
    client, project = sign_in(world.mia), world.project
    todo = [
        lambda: models.Project.objects.update(guidelines="Mark names."),
        lambda: (submit(world, world.ann), submit(world, world.ben)),
        lambda: figures_of(project=project, unit=ComparedUnit.CHARACTER), lambda: adjudicate(world, world.note),
        lambda: golden(world, world.note), lambda: frozen(world),
        lambda: make.make_set(world.note, run, submitted=True), lambda: finish(world.note, run),
    ]  # fmt: skip
    for number, act in enumerate(todo, start=2):
        assert open_steps(client) == STEPS[number:]
        act()
    assert open_steps(client) == STEPS[10:]
    models.Job.objects.create(project=project, kind="export", key="x", state=models.JobState.FAILED)
    assert open_steps(client) == STEPS[10:]
    for export in (
        lambda: run_export(project_id=project.pk, set_spec="gold:1", format="brat", actor_id=None, progress=silent),
        lambda: call_command("export_documents", "covid", f"{tmp_path}/out", "--format", "brat", "--set", "gold:1"),
    ):
        with transaction.atomic():
            export()
            models.StoredFile.objects.filter(kind="export").delete()  # it has expired
            assert "Next step" not in show(client)
            transaction.set_rollback(True)


# ── A reviewer ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_notes_left_of_each_run(world, rev, run):
    assert "No model has run yet" in section(show(rev), "To review")
    other = make.make_author(world.project, kind="run", name="rules-2")
    for note, author in ((world.note, other), (world.note, run), (world.notes[1], run)):
        make.make_set(note, author, SPAN, submitted=True)
    assert rows(show(rev), "To review") == {
        "rules-2 1 note left": url("review_next", other.pk), "rules-1 2 notes left": url("review_next", run.pk)
    }  # fmt: skip
    finish(world.note, run, world.rev)
    html = section(show(rev), "To review")
    assert "1 note left" in plain(html).partition("rules-1")[2] and "Continue" in html
    finish(world.notes[1], run, world.rev)
    finish(world.note, other, world.rev)
    html = show(rev)
    assert rows(html, "To review") == {} and "The review of 2 runs is finished." in html


# ── An annotator ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_one_button_leads_to_the_next_note(world, ann, sign_in):
    own = models.Assignment.objects.filter(user=world.ann)
    html = section(show(ann), "Your notes")
    assert f'<a class="btn primary go" href="{url("next_note")}">Start' in html and "0 done, 2 to do" in html
    own.filter(document=world.note).update(state=models.AssignmentState.DONE)
    html = section(show(ann), "Your notes")
    assert "> Continue<" in html and "1 done, 1 to do" in html
    own.update(state=models.AssignmentState.DONE)
    html = show(ann)
    assert "You have submitted all your notes." in html and url("next_note") not in html
    own.delete()
    assert "No notes assigned to you yet" in show(ann)


def comment(world, author, **about):
    about = {"document": world.note, "annotator": world.ann, "text": "Why?", "author": author} | about
    return models.Comment.objects.create(**about)


def test_replies_until_they_are_answered_or_resolved(world, ann):
    comment(world, world.rev, text="")  # deleted
    for annotator in (world.ben, None):
        comment(world, world.rev, annotator=annotator)
    root = comment(world, world.ann)
    assert section(show(ann), REPLIES) == ""
    comment(world, world.rev, answers=root)
    [(text, address)] = rows(show(ann), REPLIES).items()
    assert address == url("annotate", world.note.pk) and text.startswith("caso-001: 1 comment, ")
    comment(world, world.ann, answers=root)
    assert section(show(ann), REPLIES) == ""
    comment(world, world.rev, answers=root)
    assert section(show(ann), REPLIES)
    models.Comment.objects.filter(pk=root.pk).update(resolved_at=timezone.now())
    assert section(show(ann), REPLIES) == ""
    for author in (world.rev, world.mia):  # threads that others begin
        comment(world, author)
    assert "2 comments" in section(show(ann), REPLIES)
    models.Assignment.objects.filter(document=world.note, user=world.ann).update(state=models.AssignmentState.RELEASED)
    assert section(show(ann), REPLIES) == ""


def test_nothing_about_others(world, ann):
    submit(world, world.ben)
    html = show(ann)
    assert stages(html) == {}
    for words in ("ben", NEEDS, "To review", "Agreement", "Scores", "Annotated", "People"):
        assert words not in plain(html.partition("<main")[2]), words
    assert ann.get(url("project"), headers={"HX-Request": "true"}).status_code == 403


# ── A viewer ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def version(world, run):
    """Gold from ann's annotations, frozen, and a run that found the same span."""
    submit(world, world.ann)
    for note in world.notes:
        golden(world, note)
    frozen(world)
    make.make_set(world.note, run, SPAN, submitted=True)


def compute(world, author, version=1):
    score(score_request(world.project, version=version, author_id=author.pk))


def test_the_last_version_and_its_stored_scores(world, vic, version, run):
    html = show(vic)
    card = section(html, "Gold")
    assert url("gold_version", 1) in card and "2 notes · 2 spans" in plain(card)
    assert "No score against version 1 is computed yet." in section(html, "Scores")
    assert not models.Figures.objects.filter(kind="score").exists()
    for author in (run, models.Author.objects.get(user=world.ann)):
        compute(world, author)
    card = section(show(vic), "Scores")
    stored = models.Figures.objects.filter(kind="score").latest("at")
    assert url("score", 1, run.pk) in card and "1.00" in card and f"{stored.at:%Y}" in card
    assert ">ann<" in card
    models.Project.objects.update(anonymous_adjudication=True)
    assert ">ann<" not in section(show(vic), "Scores")
    gold = models.AnnotationSet.objects.filter(author__kind="gold")
    gold.first().spans.all().delete()
    gold.update(version=2)
    frozen(world)
    assert "No score against version 2 is computed yet." in section(show(vic), "Scores")


# ── Cost ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def grow(world):
    """Add people, notes with annotations by all of them, and runs."""
    more = [world.ann, *(make.make_member(world.project, user=f"more{n}") for n in range(4))]
    gold = make.make_author(world.project, kind=models.AuthorKind.GOLD, name="gold")
    for n in range(6):
        note = make.make_note(world.project, name=f"more-{n}", annotators=more)
        for author in [*more, gold]:
            make.make_set(note, author, SPAN, submitted=True)
        adjudicate(world, note)
    for n in range(3):
        run = make.make_author(world.project, kind=models.AuthorKind.RUN, name=f"run-{n}")
        make.make_set(world.note, run, SPAN, submitted=True)


def queries(client):
    """The number of queries of the page, after a first request, which may save the session."""
    show(client)
    with CaptureQueriesContext(connection) as captured:
        show(client)
    return len(captured)


@pytest.mark.parametrize(("who", "most"), [("mia", 65), ("rev", 50), ("ann", 10), ("vic", 35)])
def test_the_number_of_queries_does_not_grow(world, sign_in, version, run, who, most):
    submit(world, world.ben)
    adjudicate(world, world.note)
    comment(world, world.rev)
    compute(world, run)
    figures_of(project=world.project, unit=ComparedUnit.TOKEN)
    client = sign_in(getattr(world, who))
    before = queries(client)
    grow(world)
    # The frozen notes, and the gold beside them, are read only where the gold changed.
    assert queries(client) <= before + 4
    assert before <= most
