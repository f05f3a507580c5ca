"""The overview of each role in Chromium: keys, small screens, and the checklist that stays folded."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from annotations.agreement.rules.units import ComparedUnit
from annotations.agreement.services.figures import figures_of
from annotations.gold.services.making import freeze, make_gold
from annotations.models import Amendment, Assignment, AssignmentState, Comment, Flag, Job, JobState
from annotations.scores.services.scoring import score, score_request
from tests import factories as make


@pytest.fixture
def world(transactional_db: None) -> SimpleNamespace:
    """A project in which something of every kind waits for each person."""
    project = make.make_project("covid", name="Covid ward")
    ann, ben = (make.make_member(project, user=name) for name in ("ann", "ben"))
    people = {name: make.make_member(project, role, name)
              for name, role in {"rev": "reviewer", "vic": "viewer", "mia": "manager"}.items()}  # fmt: skip
    notes = [make.make_note(project, name=f"caso-{n:03}", annotators=[ann, ben], language="it") for n in range(1, 6)]
    run = make.make_author(project, kind="run", name="rules-1")
    adjudicator = make.make_author(project, kind="adjudicated", name="adjudicated")
    now = timezone.now()
    for n, note in enumerate(notes[:4]):
        at = now - timedelta(days=20 - 5 * n)
        make.make_set(note, ann, [(0, 11, "PATIENT")], submitted=True, submitted_at=at)
        spans = [(0, 11, "DOCTOR" if n % 2 else "PATIENT"), (44, 50, "CITY")]
        make.make_set(note, ben, spans, submitted=True, submitted_at=at)
        make.make_set(note, run, [(0, 11, "PATIENT")], submitted=True)
        Assignment.objects.filter(document=note).update(state=AssignmentState.DONE)
    Amendment.objects.create(project=project, number=1, text="x", guidelines_version=1, at=now - timedelta(days=12))
    for note in notes[:2]:
        made = make.make_set(note, adjudicator, [(0, 11, "PATIENT")], submitted=True)
        make_gold(document=note, annotation_set=made, actor=people["mia"])
        if note is notes[0]:
            freeze(project=project, actor=people["mia"])
    figures_of(project=project, unit=ComparedUnit.TOKEN)
    score(score_request(project, version=1, author_id=run.pk))
    Flag.objects.create(document=notes[4], user=ann, reason=Flag.Reason.UNSURE)
    Comment.objects.create(document=notes[0], annotator=ann, author=people["rev"], text="Why?")
    Job.objects.create(project=project, kind="agreement", key="x", state=JobState.FAILED, finished_at=now)
    return SimpleNamespace(project=project, notes=notes, ann=ann, ben=ben, **people)


def test_the_next_steps_by_keys(world: SimpleNamespace, page_of: Any, live: Any) -> None:
    """The checklist stays folded, and the first thing that waits is the first stop of Tab."""
    page: Page = page_of(world.mia)
    page.goto(live("project", "covid"))
    expect(page.locator("details.fold > ol")).to_be_visible()
    page.locator("summary", has_text="Next steps").focus()
    page.keyboard.press("Enter")
    expect(page.locator("details.fold > ol")).to_be_hidden()
    page.reload()
    expect(page.locator("details.fold > ol")).to_be_hidden()
    page.locator("summary", has_text="Next steps").press("Enter")
    expect(page.locator("details.fold > ol")).to_be_visible()
    page.reload()
    expect(page.locator("details.fold > ol")).to_be_visible()
    page.locator("#main").focus()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Adjudicate", exact=True).and_(page.locator(".btn")).first).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/adjudicate/")
