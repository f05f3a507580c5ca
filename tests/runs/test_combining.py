"""The page that starts an ensemble of several backends or runs."""

import uuid

import pytest
from django.urls import reverse

from annotations.jobs.runner import run as work
from models_runtime.models import Run
from tests import factories as make
from tests.worlds.checks import check_page

pytestmark = pytest.mark.django_db(transaction=True)
URL = "/projects/covid/runs/combine/"


@pytest.fixture
def runs(world):
    """Two imported runs; the second one has annotated only the first note."""
    for name, notes in (("first", world.notes), ("second", world.notes[:1])):
        author = make.make_author(world.project, kind="run", name=name)
        for note in notes:
            make.make_set(note, author, [(0, 11, "PATIENT")], submitted=True)


def post(client, *members, **options):
    return client.post(URL, {"member": members, "method": "majority", "token": str(uuid.uuid4())} | options)


def test_from_the_list_to_the_outcome(world, runs, sign_in):
    client = sign_in(world.mia)
    assert f'href="{URL}"' in check_page(client.get(reverse("runs", args=["covid"])))
    html = check_page(client.get(URL))
    assert all(word in html for word in ("Rules", "first", "second", "run, 1 note", "Majority", "Union"))
    answer = post(client, "run:first", "run:second", name="vote")
    run = Run.objects.get()
    assert answer.url == reverse("run", args=["covid", run.pk])
    check_page(client.get(answer.url))
    work(run.job_id)
    html = check_page(client.get(answer.url))
    assert all(
        word in html for word in ("majority", "run:first", "run:second", "1 note that not all members had processed")
    )
    assert run.author.annotation_sets.get().spans.get().source == "majority:run:first+run:second"
    check_page(client.get(reverse("runs", args=["covid"])))


def test_what_is_refused_is_said_and_what_was_chosen_stays(world, runs, sign_in):
    client = sign_in(world.mia)
    answer = post(client, "run:first", method="union", name="mine")
    assert answer.status_code == 422
    html = check_page(answer)
    assert "An ensemble needs at least 2 members. Choose more." in html
    assert 'value="run:first" checked' in html and 'value="mine"' in html
    assert "member" in answer.context["form"].errors
    assert 'id="method-union" value="union" required checked' in html
    heavy = {"weight:run:first": "heavy"}
    answer = post(client, "run:first", "run:second", method="weighted", **heavy)
    html = check_page(answer)
    assert answer.context["form"].errors == {"weight:run:first": ["Enter a number above 0 and at most 1000."]}
    assert "Weight of first" in html and 'value="heavy"' in html
    answer = post(client, "run:second", method="weighted", **heavy)
    assert "weight:run:first" not in answer.context["form"].errors, "a run that is not a member has no weight"
    assert "Choose one of the four methods." in check_page(post(client, "run:first", "run:second", method="guess"))
    assert not Run.objects.exists()


def test_members_of_another_project_are_refused(world, runs, sign_in):
    author = make.make_author(world.other, kind="run", name="theirs")
    make.make_set(make.make_note(world.other), author, [(0, 5, "PATIENT")], submitted=True)
    for word in ("run:theirs", "model:1"):
        assert post(sign_in(world.mia), "run:first", word).status_code == 422
    assert "theirs" not in check_page(sign_in(world.mia).get(URL))


def test_with_one_member_there_is_nothing_to_combine(world, sign_in):
    html = check_page(sign_in(world.mia).get(URL))
    assert "Nothing to combine yet" in html
