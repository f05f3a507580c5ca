"""The pages of runs: start, state, failed notes and retry; ensembles; several runs reviewed together."""

import re
import uuid

import pytest
from django.urls import reverse
from django.utils import timezone

from annotations.models import Author, Document, Import, Job, Review
from models_runtime.models import Run, RunItem, RunItemState
from models_runtime.runs.services.backends import chosen
from tests import factories as make
from tests.runs.conftest import finished
from tests.worlds.checks import check_page

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("fake")]


def url(name, *args):
    return reverse(name, args=["covid", *args])


def sent(client, name, /, **data):
    return client.post(url(name), {"token": str(uuid.uuid4())} | data)


def start(client, **options):
    return sent(client, "run_start", **{"backend": "fake"} | options)


def imported(project, name, spans=(), notes=()):
    author = make.make_author(project, kind="run", name=name)
    for note in notes:
        make.make_set(note, author, spans, submitted=True)
    return author


def test_a_run_from_the_button_to_its_end(world, mia, sign_in):
    assert "No runs yet" in check_page(sign_in(world.vic).get(url("runs")))
    token = str(uuid.uuid4())
    first, second = (start(mia, token=token) for _ in range(2))
    run = Run.objects.get()
    assert first.url == second.url == url("run", run.pk) and "hx-get" in check_page(mia.get(first.url))
    finished(run)
    html = check_page(mia.get(first.url))
    assert "X-Background" not in html and "run:fake-1" in html and "fake-1" in check_page(mia.get(url("runs")))


def test_a_second_click_before_the_first_is_answered_is_the_same_run(mia, monkeypatch):
    """Both requests look for the run before one of them has created it."""
    data, answers = {"token": str(uuid.uuid4()), "name": "mine", "backend": "rules"}, []

    def in_between(*args):
        monkeypatch.undo()
        answers.append(start(mia, **data))
        return chosen(*args)

    monkeypatch.setattr("models_runtime.runs.services.runs.chosen", in_between)
    answers.append(start(mia, **data))
    assert [answer.url for answer in answers] == [url("run", Run.objects.get().pk)] * 2


def test_failed_notes_are_listed_and_retried(world, mia):
    Document.objects.filter(pk=world.note.pk).update(text="EXPLODE")
    start(mia)
    run = Run.objects.get()
    finished(run)
    html = check_page(mia.get(url("run", run.pk)))
    assert world.note.name in html and "1 failed" in html and "1 failed" in check_page(mia.get(url("runs")))
    mia.post(url("run_retry", run.pk))
    assert RunItem.objects.filter(state=RunItemState.PENDING).count() == 1 and Job.objects.count() == 2


def test_suggestions_that_were_imported_are_reviewed_too(world, sign_in):
    author = imported(world.project, "hospital-model", [(0, 11, "PATIENT")], world.notes)
    Review.objects.create(document=world.note, author=author, finished_at=timezone.now(), finished_by=world.rev)
    assert "data-imported" not in check_page(sign_in(world.rev).get(url("runs")))
    Import.objects.create(project=world.project, written_as="run:hospital-model", state="done")
    html = check_page(sign_in(world.rev).get(url("runs")))
    assert "hospital-model" in html and "1 of 2" in html and "No runs yet" not in html
    assert html.count("data-imported") == 1 and url("review_next", author.pk) in html
    assert url("review_next", author.pk) not in check_page(sign_in(world.vic).get(url("runs")))


def test_many_imported_runs_come_page_by_page(world, sign_in):
    for number in range(31):
        imported(world.project, f"imported-{number:02}")
    client = sign_in(world.vic)
    first, second = (check_page(client.get(url("runs"), {"imported": n})) for n in (1, 2))
    assert "imported-30" in first and "imported-00" not in first and "1–30 of 31 imported runs" in first
    assert "imported-00" in second and "imported-30" not in second and 'href="?imported=1"' in second


def test_what_is_wrong_is_said_beside_its_field_and_the_form_keeps_the_input(mia):
    start(mia, name="one")
    for field, value, word in (("name", "one", "already exists"), ("backend", "none", "there is no backend")):
        answer = start(mia, left=1, **{field: value})
        html, form = check_page(answer), answer.context["form"]
        assert answer.status_code == 422 and form.errors.keys() == {field} and word in html.lower()
        assert form["left"].value() is True and re.search(r'name="left"[^>]* checked', html)
        assert ('value="fake" required checked' in html, 'name="name" value="one"' in html) == ((field == "name",) * 2)
    answer = start(mia, backend="", name="n" * 81)
    html = check_page(answer)
    assert answer.status_code == 422 and answer.context["form"].errors.keys() == {"backend", "name"}
    assert 'aria-invalid="true"' in html and "n" * 81 in html
    assert Author.objects.filter(kind="run").count() == Run.objects.count() == 1


def test_only_notes_that_are_not_gold(world, mia):
    gold = make.make_author(world.project, kind="gold")
    make.make_set(world.notes[0], gold, [(0, 11, "PATIENT")], submitted=True)
    check_page(mia.get(start(mia, left=1).url))
    assert RunItem.objects.count() == len(world.notes) - 1


# ── Ensembles ────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture
def two(world):
    """Two imported runs; the second one has annotated only the first note."""
    for name, notes in (("first", world.notes), ("second", world.notes[:1])):
        imported(world.project, name, [(0, 11, "PATIENT")], notes)


def combine(client, *members, **options):
    return sent(client, "run_combine", member=members, **{"method": "majority"} | options)


def test_an_ensemble_from_the_list_to_the_outcome(mia, two):
    assert f'href="{url("run_combine")}"' in check_page(mia.get(url("runs")))
    html = check_page(mia.get(url("run_combine")))
    assert all(word in html for word in ("Rules", "first", "second", "run, 1 note", "Majority", "Union"))
    answer = combine(mia, "run:first", "run:second", name="vote")
    run = Run.objects.get()
    assert answer.url == url("run", run.pk)
    check_page(mia.get(answer.url))
    finished(run)
    html = check_page(mia.get(answer.url))
    assert "majority" in html and "run:second" in html and "1 note that not all members had processed" in html
    assert run.author.annotation_sets.get().spans.get().source == "majority:run:first+run:second"


def test_an_ensemble_that_is_refused_keeps_what_was_chosen(world, mia, two):
    answer = combine(mia, "run:first", method="union", name="mine")
    html = check_page(answer)
    assert answer.status_code == 422 and answer.context["form"].errors.keys() == {"member"}
    assert 'value="run:first" checked' in html and 'value="mine"' in html
    assert 'id="method-union" value="union" required checked' in html
    heavy = {"method": "weighted", "weight:run:first": "heavy"}
    answer = combine(mia, "run:first", "run:second", **heavy)
    assert answer.context["form"].errors.keys() == {"weight:run:first"} and 'value="heavy"' in check_page(answer)
    answer = combine(mia, "run:second", **heavy)
    assert "weight:run:first" not in answer.context["form"].errors, "a run that is not a member has no weight"
    answer = combine(mia, "run:first", "run:second", method="guess")
    assert answer.status_code == 422 and answer.context["form"].errors.keys() == {"method"}
    # Members of another project.
    imported(world.other, "theirs", [(0, 5, "PATIENT")], [make.make_note(world.other)])
    for word in ("run:theirs", "model:1"):
        assert combine(mia, "run:first", word).status_code == 422
    assert "theirs" not in check_page(mia.get(url("run_combine"))) and not Run.objects.exists()


# ── Several runs reviewed together ───────────────────────────────────────────────────────────────────────────────────
@pytest.fixture
def three(world):
    both = [(0, 11, "PATIENT"), (44, 50, "HOSPITAL")]
    named = {"one": both[:1], "two": both, "three": [(0, 5, "DOCTOR")]}
    return [imported(world.project, name, spans, world.notes).pk for name, spans in named.items()]


@pytest.fixture
def rev(world, sign_in):
    return sign_in(world.rev)


def test_from_the_ticks_to_the_review(world, three, rev, sign_in):
    html = check_page(rev.get(url("runs")))
    assert "Review together" in html and 'form="together"' in html
    assert "Review together" not in check_page(sign_in(world.vic).get(url("runs")))
    theirs = imported(world.other, "theirs")
    for wrong in ([], three[:1], ["x", 10**30, three[0]], [three[0], theirs.pk]):
        answer = sent(rev, "runs_together", run=wrong)
        assert answer.url == url("runs") and not Run.objects.exists()
        check_page(rev.get(answer.url))
    token = str(uuid.uuid4())
    answers = [sent(rev, "runs_together", run=three, token=token) for _ in range(2)]
    run = Run.objects.get()
    assert {answer.url for answer in answers} == {url("run", run.pk)}, "a double click starts one run"
    finished(run)
    assert "Accept suggestions by agreement" in check_page(rev.get(url("run", run.pk)))
    again = sent(rev, "runs_together", run=three)
    assert again.url == url("review_next", run.author_id), "the merged list exists already"
    html = check_page(rev.get(url("review", run.author_id, world.note.pk)))
    assert "Agreeing runs" in html and "at least 3" in html and "at least 4" not in html
    html = check_page(rev.get(url("runs")))
    assert "merged from 3 runs" in html and f'value="{run.author_id}"' not in html
    for name in ("review_strings", "review_bulk_new"):
        chosen = [one.name for one in rev.get(url(name)).context["chosen"]]
        assert chosen == ["one", "two", "three"], "without the merged list, so that no string is counted twice"
