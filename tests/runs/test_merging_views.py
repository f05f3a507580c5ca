"""Several runs reviewed together: from the check boxes in the list of runs to the merged list and its bulk act."""

import uuid

import pytest
from django.urls import reverse

from annotations.jobs.runner import run as work
from annotations.models import Author, BulkAct
from models_runtime.models import Run
from tests import factories as make
from tests.worlds.checks import check_page

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def runs(world):
    spans_of_runs = {
        "first": [(0, 11, "PATIENT")],
        "second": [(0, 11, "PATIENT"), (44, 50, "HOSPITAL")],
        "third": [(0, 5, "DOCTOR")],
    }
    for name, spans in spans_of_runs.items():
        author = make.make_author(world.project, kind="run", name=name)
        for note in world.notes:
            make.make_set(note, author, spans, submitted=True)
    return [author.pk for author in Author.objects.filter(kind="run").order_by("pk")]


def url(name, *args):
    return reverse(name, args=["covid", *args])


def together(client, runs, token=""):
    return client.post(url("runs_together"), {"run": runs, "token": token or str(uuid.uuid4())})


def test_from_the_ticks_to_the_review(world, runs, sign_in):
    client = sign_in(world.rev)
    html = check_page(client.get(url("runs")))
    assert "Review together" in html and 'form="together"' in html
    assert "Review together" not in check_page(sign_in(world.vic).get(url("runs")))
    token = str(uuid.uuid4())
    answers = [together(client, runs, token) for _ in range(2)]
    run = Run.objects.get()
    assert {answer.url for answer in answers} == {url("run", run.pk)}, "a double click starts one run"
    work(run.job_id)
    html = check_page(client.get(url("run", run.pk)))
    assert "Accept suggestions by agreement" in html
    assert together(client, runs).url == url("review_next", run.author_id), "the merged list exists already"
    html = check_page(client.get(url("review", run.author_id, world.note.pk)))
    assert "Agreeing runs" in html and "at least 3" in html and "at least 4" not in html
    html = check_page(client.get(url("runs")))
    assert "merged from 3 runs" in html and f'value="{run.author_id}"' not in html
    for name in ("review_strings", "review_bulk_new"):
        page = client.get(url(name))
        assert [one.name for one in page.context["chosen"]] == ["first", "second", "third"], (
            "the merged list is not chosen, so no string is counted twice"
        )


def test_what_is_refused_is_said(world, runs, sign_in):
    client = sign_in(world.rev)
    for chosen in ([], runs[:1], ["x", 10**30, runs[0]]):
        answer = together(client, chosen)
        assert answer.url == url("runs")
        assert "Choose 2 to 20 runs" in check_page(client.get(answer.url))
    assert not Run.objects.exists()


def test_runs_of_others_are_not_there(world, runs, sign_in):
    theirs = make.make_author(world.other, kind="run", name="theirs")
    together(sign_in(world.rev), [runs[0], theirs.pk])
    assert not Run.objects.exists()


def test_what_two_agree_on_with_its_count_first(world, runs, sign_in):
    client = sign_in(world.rev)
    together(client, runs)
    run = Run.objects.get()
    work(run.job_id)
    form = check_page(client.get(f"{url('review_bulk_new')}?run={run.author_id}"))
    assert "together-1 (a merged list of 3 runs)" in form
    known = {"kind": "agreed", "runs": [run.author_id], "agree": "2", "act": "accept", "least": ""}
    answer = client.post(url("review_bulk_new"), known)
    page = client.get(answer.url)
    html = check_page(page)
    assert page.context["count"] == 2 and "Accept 2 suggestions" in html
    assert "Suggestions on which at least 2 runs agree" in html and "rejected in the same act" in html
    client.post(url("bulk_start", BulkAct.objects.get().pk))
    assert "Conflicting suggestions rejected" in check_page(client.get(answer.url))
    assert (BulkAct.objects.get().decided, BulkAct.objects.get().beside) == (2, 2)
    client.post(url("bulk_undo", BulkAct.objects.get().pk))
    assert BulkAct.objects.get().undone == 4
    for wrong, words in (
        ({"agree": "4"}, "at least as many runs"),
        ({"runs": [run.author_id, runs[0]]}, "either merged lists or single runs"),
    ):
        answer = client.post(url("review_bulk_new"), known | wrong)
        assert answer.status_code == 422 and words in check_page(answer)
