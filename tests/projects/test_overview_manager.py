"""Mia manages the project: what waits for her, the stages, agreement, people, and the checklist of a new project."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from annotations.agreement.services.figures import figures_of
from annotations.core.events import NOTE_READ
from annotations.core.progress import silent
from annotations.domain.agreement import Unit
from annotations.gold.services.making import freeze, make_gold
from annotations.models import Amendment, AnnotationSet, Figures, Flag, Job, Membership, Review, StoredFile
from annotations.transfer.services.exporting import run_export
from tests import factories as make
from tests.projects.overview_pages import adjudicate, grow, plain, queries, rows, section, show, stages, submit, url

STEPS = [
    "Import notes", "Invite people", "Write the guidelines", "Annotate a pilot of 2 notes", "Measure agreement",
    "Adjudicate", "Make gold", "Freeze a version", "Run a model", "Review suggestions", "Export",
]  # fmt: skip


@pytest.fixture
def mia(world, sign_in):
    world.project.guidelines = "Mark names."
    world.project.save()
    return sign_in(world.mia)


def open_steps(html):
    """The titles of the steps that are not done, in order."""
    return [title for title in STEPS if title in plain(section(html, "Next steps")).replace(f"{title} (done)", "")]


def at(moment, verb=NOTE_READ, **whose):
    with time_machine.travel(moment, tick=False):
        verb.record(**whose)


# ── What waits ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_nothing_to_do_is_said(world, mia):
    assert "Nothing waits for you now." in section(show(mia), "Needs you")


def test_notes_to_adjudicate_are_counted(world, mia):
    submit(world, world.ann, world.ben)
    assert rows(show(mia), "Needs you") == {"2 notes wait for adjudication.": url("adjudications")}
    adjudicate(world, world.note)
    assert rows(show(mia), "Needs you") == {"1 note waits for adjudication.": url("adjudications")}


def test_one_annotator_leaves_nothing_to_adjudicate(world, mia):
    submit(world, world.ann)
    assert rows(show(mia), "Needs you") == {}


def test_flagged_notes_are_counted_once(world, mia):
    for person in (world.ann, world.ben):
        Flag.objects.create(document=world.note, user=person, reason=Flag.Reason.UNSURE)
    assert rows(show(mia), "Needs you") == {"1 note is flagged.": url("notes") + "?state=flagged"}
    Flag.objects.update(cleared_at=timezone.now())
    assert rows(show(mia), "Needs you") == {}


def test_idle_people_are_named(world, mia):
    long_ago = timezone.now() - timedelta(days=30)
    Membership.objects.update(joined_at=long_ago)
    at(long_ago, actor=world.ann, project_id=world.project.pk)
    NOTE_READ.record(actor=world.ben, project_id=world.project.pk)
    needs = rows(show(mia), "Needs you")
    assert needs == {"1 person with open notes was not active for 7 days: ann.": url("people")}


def test_new_members_and_members_without_open_notes_are_not_idle(world, mia):
    Membership.objects.filter(user=world.vic).update(joined_at=timezone.now() - timedelta(days=30))
    assert rows(show(mia), "Needs you") == {}


def test_activity_elsewhere_is_no_activity_here(world, mia):
    Membership.objects.update(joined_at=timezone.now() - timedelta(days=30))
    NOTE_READ.record(actor=world.ann, project_id=world.other.pk)
    NOTE_READ.record(actor=world.ben, project_id=world.project.pk)
    assert "ann" in str(rows(show(mia), "Needs you"))


def test_nobody_is_called_idle_whose_older_events_were_not_searched(world, mia, monkeypatch):
    monkeypatch.setattr("annotations.projects.selectors.activity.NEWEST_EVENTS", 2)
    Membership.objects.update(joined_at=timezone.now() - timedelta(days=30))
    for person in (world.ann, world.ben):
        NOTE_READ.record(actor=person, project_id=world.project.pk)
        for _ in range(2):
            NOTE_READ.record(actor=person, project_id=world.other.pk)
    html = show(mia)
    assert rows(html, "Needs you") == {}
    assert "none recently" in section(html, "People")


def test_gold_that_differs_from_the_last_version(world, mia):
    submit(world, world.ann)
    make_gold(document=world.note, annotation_set=AnnotationSet.objects.get(document=world.note), actor=world.mia)
    assert rows(show(mia), "Needs you") == {"1 note has gold that was never frozen.": url("gold")}
    freeze(project=world.project, actor=world.mia)
    assert rows(show(mia), "Needs you") == {}
    second = AnnotationSet.objects.get(document=world.notes[1])
    make_gold(document=world.notes[1], annotation_set=second, actor=world.mia)
    assert rows(show(mia), "Needs you") == {
        "The gold of 1 note differs from version 1. In total, 1 span differs.": url("gold")
    }


def test_failed_jobs_of_the_last_days(world, mia):
    failed = {"project": world.project, "kind": "agreement", "state": Job.State.FAILED}
    Job.objects.create(key="new", finished_at=timezone.now(), **failed)
    Job.objects.create(key="old", finished_at=timezone.now() - timedelta(days=8), **failed)
    Job.objects.create(key="else", finished_at=timezone.now(), **(failed | {"project": world.other}))
    assert rows(show(mia), "Needs you") == {"1 job failed in the last 7 days.": url("jobs")}


def test_missing_guidelines(world, sign_in):
    needs = rows(show(sign_in(world.mia)), "Needs you")
    assert needs == {"The guidelines are missing. Annotators see them beside each note.": url("guidelines_edit")}


# ── The stages ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_stages_lead_to_their_pages(world, mia):
    submit(world, world.ann, world.ben)
    make.make_note(world.project)
    adjudicate(world, world.note)
    make_gold(document=world.note, annotation_set=AnnotationSet.objects.first(), actor=world.mia)
    assert stages(show(mia)) == {
        "Imported 3": url("notes"),
        "Annotated 2": url("notes"),
        "Adjudicated 1": url("adjudications") + "?show=finished",
        "Gold 1": url("gold"),
        "Frozen – no version yet": url("gold"),
    }
    freeze(project=world.project, actor=world.mia)
    assert stages(show(mia))["Frozen v1 same as the current gold"] == url("gold_version", 1)


# ── Agreement and people ─────────────────────────────────────────────────────────────────────────────────────────────


def test_agreement_is_not_computed_by_this_page(world, mia):
    submit(world, world.ann, world.ben)
    card = section(show(mia), "Agreement")
    assert "not computed yet" in card
    assert url("agreement") in card
    assert not Figures.objects.exists()


def test_stored_agreement_with_its_interval_and_time(world, mia):
    submit(world, world.ann)
    for note, spans in zip(world.notes, ([(0, 11, "PATIENT")], [(0, 11, "DOCTOR")]), strict=True):
        make.make_set(note, world.ben, spans, submitted=True, submitted_at="2026-01-01T00:00Z")
    alpha = figures_of(project=world.project, unit=Unit.TOKEN)["granularities"]["subcategory"]["alpha"]
    text = plain(section(show(mia), "Agreement"))
    assert f"α = {alpha['value']:.3f}" in text.replace("−", "-")
    assert "95% interval" in text
    assert "on 2 notes. Computed" in text
    assert "since then" not in text
    AnnotationSet.objects.filter(author__user=world.ben).update(submitted_at=timezone.now() + timedelta(minutes=1))
    assert "Annotations were submitted since then." in section(show(mia), "Agreement")


def test_the_trend_over_rounds(world, mia):
    submit(world, world.ann, world.ben)
    AnnotationSet.objects.filter(document=world.notes[1]).update(submitted_at="2026-03-01T00:00Z")
    Amendment.objects.create(
        project=world.project, number=1, text="x", guidelines_version=1, at=datetime(2026, 2, 1, tzinfo=UTC)
    )
    figures_of(project=world.project, unit=Unit.TOKEN)
    assert "Round 2" in section(show(mia), "Agreement")


def test_people_with_their_last_activity(world, mia):
    at(datetime(2026, 3, 4, 12, tzinfo=UTC), actor=world.ann, project_id=world.project.pk)
    submit(world, world.ann)
    html = section(show(mia), "People")
    assert "4 Mar 2026" in html
    assert "ann: 2 of 2 notes submitted" in html
    assert "none yet" in html
    assert plain(html).index("ann") < plain(html).index("ben")


# ── The checklist ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_new_project_shows_the_checklist_only(world, sign_in):
    project = make.make_project("new")
    client = sign_in(make.make_member(project, "manager"))
    html = show(client, "new")
    found = plain(section(html, "Next steps"))
    assert [title for title in STEPS if title.replace("2 notes", "10 notes") not in found] == []
    assert reverse("import", args=["new"]) in html
    assert "Needs you" not in html
    assert stages(html) == {}
    assert '<details class="card fold" data-fold="steps:new" open>' in html


@pytest.mark.parametrize("by", ["page", "command"])
def test_each_step_knows_that_it_is_done(world, sign_in, tmp_path, by):
    client = sign_in(world.mia)
    assert open_steps(show(client)) == STEPS[2:]
    world.project.guidelines = "Mark names."
    world.project.save()
    assert open_steps(show(client)) == STEPS[3:]
    submit(world, world.ann)
    assert open_steps(show(client)) == STEPS[3:]
    submit(world, world.ben)
    assert open_steps(show(client)) == STEPS[4:]
    figures_of(project=world.project, unit=Unit.CHARACTER)
    assert open_steps(show(client)) == STEPS[5:]
    adjudicated = adjudicate(world, world.note)
    assert open_steps(show(client)) == STEPS[6:]
    make_gold(document=world.note, annotation_set=adjudicated, actor=world.mia)
    assert open_steps(show(client)) == STEPS[7:]
    freeze(project=world.project, actor=world.mia)
    assert open_steps(show(client)) == STEPS[8:]
    run = make.make_author(world.project, kind="run", name="rules-1")
    make.make_set(world.note, run, submitted=True)
    assert open_steps(show(client)) == STEPS[9:]
    Review.objects.create(document=world.note, author=run, finished_at=timezone.now())
    assert open_steps(show(client)) == STEPS[10:]
    Job.objects.create(project=world.project, kind="export", key="x", state=Job.State.FAILED)
    assert "Next steps" in show(client)
    if by == "page":
        run_export(
            project_id=world.project.pk, set_spec="gold:1", format="brat", actor_id=world.mia.pk, progress=silent
        )
        StoredFile.objects.filter(kind="export").delete()  # it has expired
    else:
        call_command("export_documents", "covid", str(tmp_path / "out"), "--format", "brat", "--set", "gold:1")
    assert "Next steps" not in show(client)


def test_figures_without_a_note_are_no_agreement(world, mia):
    figures_of(project=world.project, unit=Unit.TOKEN)
    html = show(mia)
    assert "Measure agreement" in open_steps(html)
    assert "not computed yet" in section(html, "Agreement")


# ── Cost ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_number_of_queries_does_not_grow(world, mia):
    submit(world, world.ann, world.ben)
    adjudicate(world, world.note)
    make_gold(document=world.note, annotation_set=AnnotationSet.objects.first(), actor=world.mia)
    freeze(project=world.project, actor=world.mia)
    run = make.make_author(world.project, kind="run", name="run-first")
    make.make_set(world.note, run, submitted=True)
    figures_of(project=world.project, unit=Unit.TOKEN)
    before = queries(mia)
    grow(world)
    assert queries(mia) <= before + 1  # the frozen notes are read only where the gold differs from them
    assert before <= 65
