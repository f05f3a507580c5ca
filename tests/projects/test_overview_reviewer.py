"""Rev reviews: the queues of the runs with the number of notes left, and what else waits for a reviewer."""

import pytest
from django.utils import timezone

from annotations.gold.services.making import freeze, make_gold
from annotations.models import AnnotationSet, Handover, Review
from tests import factories as make
from tests.projects.overview_pages import SPAN, adjudicate, grow, plain, queries, rows, section, show, submit, url


@pytest.fixture
def rev(world, sign_in):
    return sign_in(world.rev)


@pytest.fixture
def run(world):
    author = make.make_author(world.project, kind="run", name="rules-1")
    for note in world.notes:
        make.make_set(note, author, SPAN, submitted=True)
    return author


def test_the_notes_left_of_each_run(world, rev, run):
    other = make.make_author(world.project, kind="run", name="rules-2")
    make.make_set(world.note, other, SPAN, submitted=True)
    assert rows(show(rev), "To review") == {
        "rules-2 1 note left": url("review_next", other.pk),
        "rules-1 2 notes left": url("review_next", run.pk),
    }
    Review.objects.create(document=world.note, author=run, finished_at=timezone.now(), finished_by=world.rev)
    html = section(show(rev), "To review")
    assert "1 note left" in plain(html).partition("rules-1")[2]
    assert "Continue" in html


def test_a_finished_run_is_counted_and_left_out(world, rev, run):
    for note in world.notes:
        Review.objects.create(document=note, author=run, finished_at=timezone.now(), finished_by=world.rev)
    html = show(rev)
    assert rows(html, "To review") == {}
    assert "The review of 1 run is finished." in html


def test_notes_that_wait_for_the_second_reviewer(world, rev, run):
    review = Review.objects.create(document=world.note, author=run)
    Handover.objects.create(review=review, blind=True, first=world.mia, outcome={}).people.add(world.mia)
    assert "2 notes left 1 note waits for you as second reviewer" in plain(section(show(rev), "To review"))
    Handover.objects.get().people.add(world.rev)
    assert "1 note left" in plain(section(show(rev), "To review"))


def test_without_a_run_the_card_says_so(world, rev):
    assert "No model has run yet" in section(show(rev), "To review")


def test_other_work_of_reviewers_but_not_of_managers(world, rev):
    submit(world, world.ann, world.ben)
    html = show(rev)
    assert rows(html, "Needs you") == {"2 notes wait for adjudication.": url("adjudications")}
    assert "Next steps" not in html
    assert section(html, "People") == ""
    assert "ann: 2 of 2 notes submitted" in html


def test_an_empty_project_says_who_imports(world, sign_in):
    project = make.make_project("empty")
    html = show(sign_in(make.make_member(project, "reviewer")), "empty")
    assert "No notes yet" in html
    assert "Next steps" not in html


def test_the_number_of_queries_does_not_grow(world, rev, run):
    submit(world, world.ann, world.ben)
    adjudicate(world, world.note)
    make_gold(document=world.note, annotation_set=AnnotationSet.objects.first(), actor=world.mia)
    freeze(project=world.project, actor=world.mia)
    before = queries(rev)
    grow(world)
    assert queries(rev) <= before + 1  # the frozen notes are read only where the gold differs from them
    assert before <= 45
