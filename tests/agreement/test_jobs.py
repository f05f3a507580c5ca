"""Figures of agreement as a job: one for each content, its progress on the page, and without a worker."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from django.urls import reverse

from annotations.agreement.rules.units import ComparedUnit
from annotations.agreement.services import figures as service
from annotations.agreement.services.figures import kept_figures, start_agreement
from annotations.core.tokenizers import KINDS
from annotations.jobs.services.worker import perform
from annotations.models import Figures, Job, JobState
from annotations.text.spans import Token
from tests import factories as make
from tests.worlds.checks import check_page
from tests.worlds.pages import signed_in

pytestmark = [pytest.mark.queue, pytest.mark.django_db]
HTMX = {"HTTP_HX_REQUEST": "true"}


@pytest.fixture
def world(db, no_redis, monkeypatch):
    monkeypatch.setattr(service, "AT_ONCE_ANNOTATION_SETS", 1)
    project = make.make_project("covid")
    people = [make.make_member(project, user=name) for name in ("ann", "ben")]
    for number in range(2):
        note = make.make_note(project)
        for person in people:
            make.make_set(note, person, [(0, 11, "PATIENT"), (13, 15, "AGE")][: 1 + number], submitted=True)
    viewer = make.make_member(project, "viewer", "vic")
    client = signed_in(viewer)
    return SimpleNamespace(
        project=project, viewer=viewer, client=client, start=reverse("agreement_start", args=["covid"])
    )


def ask(world, **options):
    return world.client.post(world.start, {"unit": "token"}, **options)


def test_from_the_page_to_the_figures(world):
    page = reverse("agreement", args=["covid"])
    assert "Computing figures" in check_page(world.client.get(page))
    html = check_page(ask(world, **HTMX), fragment=True)
    job = Job.objects.get()
    progress = reverse("agreement_progress", args=["covid", job.number])
    assert f'hx-get="{progress}"' in html
    assert "The queue (Redis) does not respond" in html
    perform(job.pk)
    answer = world.client.get(progress, **HTMX)
    assert answer["HX-Refresh"] == "true"
    assert "hx-get" not in check_page(answer, fragment=True)
    assert (make.reread(job).state, job.result, job.done, job.total) == ("done", {"unit": "token", "notes": 2}, 2, 2)
    assert "Cohen" in check_page(world.client.get(page))
    assert "Show agreement" in check_page(world.client.get(reverse("job", args=["covid", job.number])))


def test_the_page_has_the_tokens_of_another_tokenizer(world, monkeypatch):
    """Each token is a link; a worker computes them, whatever the size. Other units have no tokens."""
    monkeypatch.setattr(service, "AT_ONCE_ANNOTATION_SETS", 600)
    monkeypatch.setitem(KINDS, "spacy", replace(KINDS["spacy"], factory=f"{__name__}.whole_texts"))
    page, choice = reverse("agreement", args=["covid"]), "tokenizer=spacy"
    html = check_page(world.client.get(page))
    assert f"unit=token&amp;granularity=subcategory&amp;{choice}" in html and "Fleiss" in html
    assert "tokenizer=" not in check_page(world.client.get(page, {"unit": "entity", "tokenizer": "spacy"}))
    assert "Fleiss" in check_page(world.client.get(page, {"tokenizer": "no such"}))
    chosen = {"unit": "marked", "tokenizer": "spacy"}
    html = check_page(world.client.get(page, chosen))
    assert "Fleiss" not in html and 'name="tokenizer" value="spacy"' in html
    assert world.client.post(world.start, chosen | {"tokenizer": "no such"}).status_code == 404
    world.client.post(world.start, chosen)
    job = Job.objects.get()
    perform(job.pk)
    assert choice in check_page(world.client.get(reverse("job", args=["covid", job.number])))
    html = check_page(world.client.get(page, chosen))
    assert kept_figures(world.project, ComparedUnit.MARKED, "spacy")["notes"] == 2
    assert html.count(f"granularity=binary&amp;{choice}") == html.count(f"measure=exact&amp;{choice}") == 1
    assert "/agreement/csv" not in html, "the table has the tokens of the default rule"


def whole_texts(language):
    """A tokenizer for tests: a text is one token."""
    return lambda text: [Token(0, len(text))]


def test_two_requests_are_one_job_and_changed_sets_are_another(world):
    """So is a job whose figures were deleted."""

    def begin(unit=ComparedUnit.TOKEN):
        return start_agreement(project=world.project, unit=unit, actor=world.viewer)

    answers = [ask(world) for _ in range(2)]
    job = Job.objects.get()
    assert {answer.url for answer in answers} == {reverse("job", args=["covid", job.number])}
    perform(job.pk)
    assert begin().pk == job.pk
    Figures.objects.all().delete()
    again = begin()
    assert again.pk != job.pk
    perform(again.pk)
    assert kept_figures(world.project, ComparedUnit.TOKEN)["notes"] == 2
    make.make_set(make.make_note(world.project), make.make_member(world.project), [], submitted=True)
    assert begin().pk not in (job.pk, again.pk)
    assert begin(ComparedUnit.ENTITY).params == {"unit": "entity"}


def test_one_that_failed_is_shown_and_not_started_over_and_over(world):
    ask(world)
    Job.objects.update(state=JobState.FAILED, error="It fell over.", started_at="2026-01-01T00:00:00Z")
    html = check_page(ask(world, **HTMX), fragment=True)
    assert "It fell over." in html and "Restart" in html
    assert "hx-get" not in html
    assert Job.objects.count() == 1
