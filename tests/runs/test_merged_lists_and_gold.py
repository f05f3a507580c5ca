"""Gold that was taken from a run or from a merged list: scores of the other one warn, on every page and command."""

import io

import pytest
from django.core.management import call_command
from django.urls import reverse

from annotations.gold.services.making import make_gold
from annotations.jobs.runner import run as work
from annotations.models import Author
from annotations.review.services.finishing import finish_review
from models_runtime.runs.services.merging import review_together
from tests import factories as make
from tests.worlds.checks import check_page

pytestmark = [pytest.mark.queue, pytest.mark.django_db(transaction=True)]
ROSSI, CITY, DATE = (0, 11, "PATIENT"), (44, 50, "CITY"), (31, 41, "DATE")


@pytest.fixture
def listed(world, no_redis):
    """The runs a, b and c, and the merged list of a and b."""
    for name, spans in (("a", [ROSSI, CITY]), ("b", [ROSSI, DATE]), ("c", [ROSSI])):
        author = make.make_author(world.project, kind="run", name=name)
        for note in world.notes:
            make.make_set(note, author, spans, submitted=True)
    run = review_together(project=world.project, runs=("a", "b"), actor=world.rev, key="k")
    work(run.job_id)
    world.merged = run.author
    return world


def author(name):
    return Author.objects.get(kind="run", name=name)


def url(name, *args):
    return reverse(name, args=["covid", *args])


def scored(client, one):
    return check_page(client.get(url("score", 0, one.pk)))


def compared(client, *authors):
    query = "&".join(f"a={one.pk}" for one in authors)
    return check_page(client.get(f"{url('runs_compare')}?gold=0&{query}"))


def said(command, *options):
    out = io.StringIO()
    call_command(command, "covid", *options, stdout=out)
    return out.getvalue()


def test_gold_of_a_run_warns_at_the_merged_list(listed, sign_in):
    client = sign_in(listed.rev)
    for note in listed.notes:
        make_gold(document=note, annotation_set=author("a").annotation_sets.get(document=note), actor=listed.rev)
    warning = "4 of the 4 gold spans were copied from together-1 or from its runs, so its figures are too optimistic."
    html = check_page(client.get(url("scores")))
    assert warning in html and "copied from b" not in html and html.count(">too optimistic<") == 2
    assert warning in scored(client, listed.merged)
    html = compared(client, listed.merged, author("b"))
    assert warning in html and "copied from b" not in html
    command = "4 gold spans were copied from together-1 or from its runs, so its figures are too optimistic."
    assert command in said("score", "--author", "together-1")
    assert command in said("compare_runs", "--runs", "together-1,b")
    assert "too optimistic" not in said("score", "--author", "b")


def test_gold_of_a_merged_list_warns_at_each_of_its_runs_that_suggested_it(listed, sign_in):
    client = sign_in(listed.rev)
    for note in listed.notes:
        ids = set(listed.merged.annotation_sets.get(document=note).spans.values_list("pk", flat=True))
        finish_review(document=note, author=listed.merged, user=listed.rev, rest=ids)
    html = check_page(client.get(url("scores")))
    for name, own in (("a", 4), ("b", 4), ("c", 0)):
        warning = f"{own} of the 6 gold spans were copied from {name}, so its figures are too optimistic."
        for shown in (html, scored(client, author(name)), compared(client, author(name), listed.merged)):
            assert (warning in shown) == bool(own), name
    assert "6 of the 6 gold spans were copied from together-1 or from its runs" in html
    assert "4 gold spans were copied from a, so" in said("score", "--author", "a")
