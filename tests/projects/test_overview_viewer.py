"""Vic views: the stages, the last version, agreement and stored scores; nothing to do."""

import pytest

from annotations.gold.services.making import freeze, make_gold
from annotations.models import AnnotationSet, Author, Figures, Job, Project, Span
from annotations.scores.services.scoring import score, score_request
from tests import factories as make
from tests.projects.overview_pages import SPAN, grow, plain, queries, section, show, stages, submit, url


@pytest.fixture
def vic(world, sign_in):
    return sign_in(world.vic)


@pytest.fixture
def frozen(world):
    """Gold from ann's annotations, frozen, and a run that found the same span."""
    submit(world, world.ann)
    for annotation_set in AnnotationSet.objects.all():
        make_gold(document=annotation_set.document, annotation_set=annotation_set, actor=world.mia)
    freeze(project=world.project, actor=world.mia)
    run = make.make_author(world.project, kind="run", name="rules-1")
    make.make_set(world.note, run, SPAN, submitted=True)
    return run


def compute(world, author):
    score(score_request(world.project, version=1, author_id=author.pk))


def test_the_stages_without_pages_that_viewers_may_not_open(world, vic, frozen):
    found = stages(show(vic))
    assert found["Adjudicated 0"] == ""
    assert found["Frozen v1 same as the current gold"] == url("gold_version", 1)
    assert [vic.get(address).status_code for address in found.values() if address] == [200] * 4


def test_the_last_version(world, vic, frozen):
    card = section(show(vic), "Gold")
    assert url("gold_version", 1) in card
    assert "2 notes · 2 spans" in plain(card)


def test_before_the_first_version(world, vic):
    html = show(vic)
    assert "No version is frozen yet." in section(html, "Gold")
    assert "Scores need a frozen version." in section(html, "Scores")


def test_stored_scores_with_their_time(world, vic, frozen):
    assert "No score against version 1 is computed yet." in section(show(vic), "Scores")
    assert not Figures.objects.filter(kind="score").exists()
    compute(world, frozen)
    card = section(show(vic), "Scores")
    assert url("score", 1, frozen.pk) in card
    assert "1.0000" in card
    assert f"{Figures.objects.filter(kind='score').get().at:%Y}" in card


def test_stored_scores_on_few_notes_and_on_copied_gold_are_marked(world, vic, frozen):
    second = world.notes[1]
    own = make.make_set(second, frozen, [(0, 5, "PATIENT")], submitted=True)
    compute(world, frozen)
    card = section(show(vic), "Scores")
    few = Figures.objects.get(kind="score").value["few_notes"]
    assert "too optimistic" not in card
    assert f"[{few['low']:.3f}, {few['high']:.3f}]" in card and ">few notes<" in card
    assert card.count("On fewer than 20 notes, the F1 of exact spans has a") == 1
    make_gold(document=second, annotation_set=own, actor=world.mia, replace=True)
    Span.objects.filter(annotation_set__author__kind="gold", annotation_set__document=world.note).delete()
    freeze(project=world.project, actor=world.mia)
    score(score_request(world.project, version=2, author_id=frozen.pk))
    card = section(show(vic), "Scores")
    assert ">too optimistic<" in card
    assert f"1 of the 1 gold spans were copied from {frozen.name}, so its figures are too optimistic." in card


def test_scores_of_an_older_version_are_not_shown(world, vic, frozen):
    compute(world, frozen)
    AnnotationSet.objects.filter(author__kind="gold").first().spans.all().delete()
    freeze(project=world.project, actor=world.mia)
    assert "No score against version 2 is computed yet." in section(show(vic), "Scores")


def test_anonymous_adjudication_hides_the_scores_of_annotators(world, vic, frozen):
    compute(world, Author.objects.get(user=world.ann))
    assert ">ann<" in section(show(vic), "Scores")
    Project.objects.filter(pk=world.project.pk).update(anonymous_adjudication=True)
    assert ">ann<" not in section(show(vic), "Scores")


def test_nothing_waits_for_a_viewer(world, vic):
    submit(world, world.ann, world.ben)
    Job.objects.create(project=world.project, kind="agreement", key="x", state=Job.State.FAILED)
    html = show(vic)
    for heading in ("Needs you", "Next steps", "To review", "People", "Your notes"):
        assert section(html, heading) == "", heading
    assert "not computed yet" in section(html, "Agreement")


def test_the_number_of_queries_does_not_grow(world, vic, frozen):
    compute(world, frozen)
    before = queries(vic)
    grow(world)
    assert queries(vic) <= before + 1  # the frozen notes are read only where the gold differs from them
    assert before <= 35
