"""Review by string: the list of strings and the page of one string count the same suggestions."""

from types import SimpleNamespace

import pytest
from django.utils import timezone

from annotations.models import PlantedLeak, Project, Review, Span, SuggestedString
from annotations.review.services.finishing import finish_review
from annotations.review.services.log import Act
from tests import factories as make
from tests.held import made_once
from tests.worlds.pages import url
from tests.worlds.reviewing import review, suggested_world

TEXT = "Mario Rossi vive a Torino. Lo visita Mario Rossi."
FIRST, CITY, AGAIN = (0, 11, "PATIENT"), (19, 25, "CITY"), (37, 48, "PATIENT")
SUGGESTED = [FIRST, CITY, AGAIN]
NOTES = 5


def make_ward() -> SimpleNamespace:
    """Two runs and their merged list suggest a name twice and a city, in notes of which each test changes one."""
    world = suggested_world(NOTES, TEXT, rules_1=SUGGESTED, crf_1=SUGGESTED, merged_1=SUGGESTED)
    make.change(world.runs[2], merged_from=[run.pk for run in world.runs[:2]])
    merged = Span.objects.filter(annotation_set__author=world.runs[2])
    runs = [{"run": run.name, "confidence": None, "source": ""} for run in world.runs[:2]]
    merged.update(provenance={"runs": runs, "agree": 2, "of": 2, "clear": 2})
    world.gold = make.make_author(world.project, kind="gold", name="gold")
    return world


made, ward = made_once(make_ward)


def suggestion(ward, note: int, run: int, at: tuple[int, int, str]) -> Span:
    return Span.objects.get(
        annotation_set__document=ward.notes[note], annotation_set__author=ward.runs[run], start=at[0]
    )


def decided(ward, note: int, run: int, at: tuple[int, int, str], act: Act = Act.ACCEPT) -> None:
    review(ward.notes[note], ward.runs[run], ward.rev, act, suggestion(ward, note, run, at))


def finished(ward, note: int, run: int, user=None) -> None:
    everything = [suggestion(ward, note, run, at) for at in (FIRST, CITY, AGAIN)]
    rest = {span.pk for span in everything if not PlantedLeak.objects.filter(suggestion=span).exists()}
    finish_review(document=ward.notes[note], author=ward.runs[run], user=user or ward.rev, rest=rest)


def planted(ward, note: int, result: str) -> None:
    reviewed, _ = Review.objects.get_or_create(document=ward.notes[note], author=ward.runs[0], planted_share=20)
    about = {"review": reviewed, "suggestion": suggestion(ward, note, 0, FIRST), "known": "runs", "result": result}
    PlantedLeak.objects.create(**about, revealed_at=timezone.now() if result else None)


def nothing(ward) -> None:
    pass


def gold_with_the_same_spans(ward) -> None:
    make.make_set(ward.notes[0], ward.gold, [FIRST, CITY], submitted=True)


def gold_with_overlapping_spans(ward) -> None:
    make.make_set(ward.notes[0], ward.gold, [(0, 5, "PATIENT"), (19, 25, "PATIENT")], submitted=True)


def gold_of_one_note_has_every_span_of_a_string(ward) -> None:
    for note in ward.notes:
        make.make_set(note, ward.gold, [CITY], submitted=True)


def drafts_of_other_reviews(ward) -> None:
    make.make_set(ward.notes[0], ward.gold, [FIRST, CITY])
    decided(ward, 1, 1, FIRST)


def decisions(ward) -> None:
    decided(ward, 0, 0, FIRST)
    decided(ward, 1, 0, CITY, Act.REJECT)
    for note in range(NOTES):
        decided(ward, note, 1, CITY, Act.REJECT)


def finished_reviews(ward) -> None:
    finished(ward, 0, 0)
    finished(ward, 1, 1)
    # A span that left gold after its review was finished: its suggestion has no decision and can't get one.
    make.make_set(ward.notes[2], ward.gold, [FIRST, CITY, AGAIN])
    finish_review(document=ward.notes[2], author=ward.runs[0], user=ward.rev)
    Span.objects.filter(annotation_set__document=ward.notes[2], annotation_set__author=ward.gold, start=19).delete()


def reviews_for_a_second_person(ward) -> None:
    Project.objects.update(second_review="blind")
    ward.project.refresh_from_db()
    for note in ward.notes:
        note.project = ward.project
    gold = make.make_set(ward.notes[0], ward.gold, [FIRST, CITY, AGAIN])
    finish_review(document=ward.notes[0], author=ward.runs[0], user=ward.rev)
    gold.spans.filter(start=19).delete()
    finished(ward, 1, 0, user=ward.mia)


def planted_leaks(ward) -> None:
    planted(ward, 0, "")
    planted(ward, 1, "missed")


CASES = [
    nothing, gold_with_the_same_spans, gold_with_overlapping_spans, gold_of_one_note_has_every_span_of_a_string,
    drafts_of_other_reviews, decisions, finished_reviews, reviews_for_a_second_person, planted_leaks,
]  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_list_and_the_pages_of_its_strings_count_the_same(ward, case):
    case(ward)
    for runs in ([], [2], [0, 1]):
        check_counts(ward, case, runs)


def check_counts(ward, case, runs) -> None:
    query = "?" + "&".join(f"run={ward.runs[run].pk}" for run in runs)
    rows = {row.key: row for row, _ in ward.client.get(url("review_strings") + query).context["rows"]}
    for string in SuggestedString.objects.filter(author=ward.runs[runs[0] if runs else 0]):
        page = ward.client.get(url("review_string", string.pk) + query)
        counts = page.context["open"], page.context["skipped"]
        boxes = sum(row.is_open for row in page.context["rows"])
        assert boxes == sum(counts), "one box for each suggestion that is counted"
        row = rows.pop(string.string_key, None)
        if row is None:
            assert counts == (0, 0), "only a string that waits for nothing is not listed"
            continue
        assert (row.open, row.skipped) == counts != (0, 0)
        assert bool(row.skipped) == ('id="skipped"' in page.content.decode())
        if case is not planted_leaks:  # the stored count leaves out a leak that is drawn, which this test doesn't do
            assert row.count == len(page.context["rows"]), "the same occurrences"
    assert not rows
