"""The pages of runs: start, state, failed notes and retry."""

import re
import uuid

import pytest
from django.urls import reverse
from django.utils import timezone

from annotations.jobs.runner import run as work
from annotations.models import Author, Job, Review
from models_runtime.core import registry
from models_runtime.models import Run, RunItem
from models_runtime.runs.services.backends import chosen
from tests import factories as make
from tests.worlds.checks import check_page

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def fake(monkeypatch):
    kind = registry.BackendKind(title="Fake", factory="tests.worlds.fake_backend.FakeBackend", description="For tests.")
    monkeypatch.setitem(registry.BACKENDS, "fake", kind)


def start(client, world, **options):
    data = {"backend": "fake", "token": str(uuid.uuid4())} | options
    return client.post(reverse("run_start", args=[world.project.slug]), data)


def test_no_runs_yet(world, sign_in):
    assert "No runs yet" in check_page(sign_in(world.vic).get(reverse("runs", args=["covid"])))


def test_a_run_from_the_button_to_its_end(transactional_db, world, sign_in):
    client = sign_in(world.mia)
    token = str(uuid.uuid4())
    first, second = (start(client, world, token=token) for _ in range(2))
    run = Run.objects.get()
    assert first.url == second.url == reverse("run", args=["covid", run.pk])
    assert "hx-get" in check_page(client.get(first.url))
    work(run.job_id)
    html = check_page(client.get(first.url))
    assert "hx-trigger" not in html
    assert "run:fake-1" in html
    assert "fake-1" in check_page(client.get(reverse("runs", args=["covid"])))
    check_page(client.get(reverse("job", args=["covid", run.job.number])))


def test_a_second_click_before_the_first_is_answered_is_the_same_run(world, sign_in, monkeypatch):
    """Both requests look for the run before one of them has created it."""
    client, data, answers = sign_in(world.mia), {"token": str(uuid.uuid4()), "name": "mine"}, []

    def in_between(*args):
        monkeypatch.undo()
        answers.append(start(client, world, backend="rules", **data))
        return chosen(*args)

    monkeypatch.setattr("models_runtime.runs.services.runs.chosen", in_between)
    answers.append(start(client, world, backend="rules", **data))
    assert [answer.url for answer in answers] == [reverse("run", args=["covid", Run.objects.get().pk])] * 2


def test_failed_notes_are_listed_and_retried(world, sign_in):
    client = sign_in(world.mia)
    world.note.__class__.objects.filter(pk=world.note.pk).update(text="EXPLODE")
    start(client, world)
    run = Run.objects.get()
    work(run.job_id)
    html = check_page(client.get(reverse("run", args=["covid", run.pk])))
    assert world.note.name in html and "1 failed" in html
    assert "1 failed" in check_page(client.get(reverse("runs", args=["covid"])))
    client.post(reverse("run_retry", args=["covid", run.pk]))
    assert RunItem.objects.filter(state=RunItem.State.PENDING).count() == 1
    assert Job.objects.count() == 2


def test_suggestions_that_were_imported_are_reviewed_too(world, sign_in):
    author = make.make_author(world.project, kind="run", name="hospital-model")
    for note in world.notes:
        make.make_set(note, author, [(0, 11, "PATIENT")], submitted=True)
    Review.objects.create(document=world.note, author=author, finished_at=timezone.now(), finished_by=world.rev)
    html = check_page(sign_in(world.rev).get(reverse("runs", args=["covid"])))
    assert "hospital-model" in html
    assert "1 of 2" in html
    assert reverse("review_next", args=["covid", author.pk]) in html
    assert "No runs yet" not in html
    html = check_page(sign_in(world.vic).get(reverse("runs", args=["covid"])))
    assert reverse("review_next", args=["covid", author.pk]) not in html


def test_many_imported_runs_come_page_by_page(world, sign_in):
    for number in range(31):
        make.make_author(world.project, kind=Author.Kind.RUN, name=f"imported-{number:02}")
    client, page = sign_in(world.vic), reverse("runs", args=["covid"])
    first, second = (check_page(client.get(page, {"imported": n})) for n in (1, 2))
    assert "imported-30" in first and "imported-00" not in first and "1–30 of 31 imported runs" in first
    assert "imported-00" in second and "imported-30" not in second and 'href="?imported=1"' in second


def test_a_taken_name_or_unknown_backend_is_said(world, sign_in):
    client = sign_in(world.mia)
    start(client, world, name="one")
    for options, word in (({"name": "one"}, "already exists"), ({"backend": "none"}, "there is no backend")):
        answer = start(client, world, left=1, **options)
        assert answer.status_code == 422
        html = check_page(answer)
        assert word in html.lower()
        ((field, _reasons),) = answer.context["form"].errors.items()
        assert field == next(iter(options)), "the error is shown beside its field"
        # The form keeps the input.
        assert answer.context["form"]["left"].value() is True and re.search(r'name="left"[^>]* checked', html)
        assert ('value="fake" required checked' in html, 'name="name" value="one"' in html) == (
            ("name" in options,) * 2
        )
    assert Author.objects.filter(kind="run").count() == 1


def test_a_form_without_a_backend_or_with_too_long_a_name_is_said(world, sign_in):
    answer = start(sign_in(world.mia), world, backend="", name="n" * 81)
    html = check_page(answer)
    assert answer.status_code == 422 and "No run was started." in html
    assert answer.context["form"]["backend"].errors == ["Choose a backend."]
    assert "at most 80 characters" in answer.context["form"]["name"].errors[0]
    assert 'aria-invalid="true"' in html and "n" * 81 in html
    assert not Run.objects.exists()


def test_only_notes_that_are_not_gold(world, sign_in):
    client = sign_in(world.mia)
    gold = make.make_author(world.project, kind="gold")
    make.make_set(world.notes[0], gold, [(0, 11, "PATIENT")], submitted=True)
    check_page(client.get(start(client, world, left=1).url))
    assert RunItem.objects.count() == len(world.notes) - 1
