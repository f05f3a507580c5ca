"""The loop by its page: freeze, train, run on the remaining notes, review; and the table of rounds."""

from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse

from annotations.core.services import NOTE_READ
from annotations.gold.services.making import withdraw_gold
from annotations.jobs.runner import run as work
from annotations.models import GoldVersion, GoldVersionNote, Span
from annotations.review.events import REVIEW_BULK_DONE, REVIEW_DECIDED, REVIEW_FINISHED, REVIEW_REOPENED, REVIEW_UNDONE
from annotations.review.services.finishing import finish_review
from annotations.review.services.log import Act, effort_of
from models_runtime.models import Run, TrainedModel
from models_runtime.runs.services.loop import loop_of, rounds
from tests.factories import make_member, make_note, make_project
from tests.training.conftest import page
from tests.worlds.checks import check_page
from tests.worlds.commands import answered
from tests.worlds.reviewing import review


def by_command():
    return answered("loop", "ward")


def held_out(version):
    return set(GoldVersionNote.objects.filter(version=version, split="dev").values_list("document_id", flat=True))


def accept_all(run, user):
    """Accept every suggestion of the run, one by one, and finish every note."""
    for annotation_set in run.author.annotation_sets.select_related("document__project"):
        for span in annotation_set.spans.all():
            review(annotation_set.document, run.author, user, Act.ACCEPT, span)
        finish_review(document=annotation_set.document, author=run.author, user=user)


def train_and_run(manager, world, number):
    form = {"gold": number, "algorithm": "ap", "token": f"t{number}"}
    model = TrainedModel.objects.get(pk=manager.post(page("model_train"), form).url.strip("/").split("/")[-1])
    work(model.job_id)
    assert loop_of(world.project).next == ("run" if loop_of(world.project).left else None)
    form = {"backend": f"model:{model.pk}", "left": "1", "token": f"r{number}"}
    assert len({manager.post(page("run_start"), form).url for _ in range(2)}) == 1
    run = Run.objects.get(model=model)
    work(run.job_id)
    return run


def test_round_by_round_from_the_page(world, manager):
    shown = check_page(manager.get(page("loop")))
    assert "Hold notes out" in shown and 'name="share"' in shown
    for _ in range(2):
        assert manager.post(page("loop_freeze"), {"share": "20"}).url == page("loop")
    first = GoldVersion.objects.get()
    assert len(held_out(first)) == 4 and loop_of(world.project).next == "train"
    for spans, enough in ((0, False), (1, True), (first.span_count, True)):
        GoldVersion.objects.update(span_count=spans)
        assert loop_of(world.project).can["train"] is enough
    assert "Train a model" in check_page(manager.get(page("loop")))
    run = train_and_run(manager, world, 1)
    assert run.items.count() == 2, "only what is not gold was read"
    assert rounds(world.project)[-1].more == 0
    shown = check_page(manager.get(page("loop")))
    assert page("review_next", run.author_id) in shown and "no note finished" in shown
    accept_all(run, world.reviewer)

    row = by_command()
    assert row["next"] == "freeze" and row["left"] == 0
    (one,) = row["rounds"]
    spans = Span.objects.filter(annotation_set__author=run.author).count()
    assert (one["notes_reviewed"], one["spans_reviewed"], one["acts"]) == (2, spans, spans + 2)
    assert one["acts_per_span"] == (spans + 2) / spans and one["seconds_per_note"] is not None
    make_note(world.project, "Paziente: Eva Sanz.\n", "dopo")
    assert "Gold has changed since version 1." in check_page(manager.get(page("loop")))
    manager.post(page("loop_freeze"), {"share": "50"})
    assert held_out(GoldVersion.objects.get(number=2)) == held_out(first), "the notes held out stay the same"
    train_and_run(manager, world, 2)
    shown = check_page(manager.get(page("loop")))
    assert "The models of 2 rounds were scored on the same 4 notes" in shown and "plot-line" not in shown
    assert [each["comparable"] for each in by_command()["rounds"]] == [True, True]
    # The gold of a held-out note changes, so scores before and after are not comparable.
    withdraw_gold(document=world.project.documents.get(pk=min(held_out(first))), actor=world.manager)
    manager.post(page("loop_freeze"), {})
    manager.post(page("loop_freeze"), {"share": "20"})
    train_and_run(manager, world, 3)
    assert "plot-line" in check_page(manager.get(page("loop"))), "three rounds show a trend"
    shown = check_page(manager.get(page("loop")))
    assert shown.count("not comparable (other notes)") == 2
    assert [each["comparable"] for each in by_command()["rounds"]].count(False) == 2


def test_an_invalid_share_shows_an_error_beside_its_field(world, manager):
    for share in ("0", "91", "x", "²", "9" * 5000, ""):
        answer = manager.post(page("loop_freeze"), {"share": share})
        html = check_page(answer)
        assert answer.status_code == 422 and answer.context["form"].errors.keys() == {"share"}
        (why,) = answer.context["form"].errors["share"]
        assert html.count(why) == 2, "on top, and at the field"
        assert not share or f'name="share" value="{share}"' in html, "what was filled in stays"
    assert GoldVersion.objects.count() == 1


def test_an_empty_project_says_how_to_begin(manager):
    loop, freeze = (reverse(name, args=["empty"]) for name in ("loop", "loop_freeze"))
    manager.force_login(make_member(make_project("empty"), "manager"))
    shown = check_page(manager.get(loop))
    assert "No gold yet" in shown and reverse("runs", args=["empty"]) in shown
    manager.post(freeze, {"share": "20"})
    assert not GoldVersion.objects.filter(project__slug="empty").exists()
    assert manager.post(freeze, {"share": "0"}).status_code == 422


def test_actions_and_seconds_from_the_log():
    begun = datetime(2026, 1, 1, 8, tzinfo=UTC)
    events = [
        (1, 7, NOTE_READ, {}, 0), (1, 7, REVIEW_DECIDED, {"act": "accept"}, 4),
        (2, 7, REVIEW_DECIDED, {"act": "reject"}, 5), (1, 7, REVIEW_UNDONE, {}, 6),
        (1, 7, REVIEW_FINISHED, {"spans": 3}, 10), (1, None, REVIEW_BULK_DONE, {"decided": 40_000}, 20),
        (1, 8, NOTE_READ, {}, 1000), (1, 8, REVIEW_FINISHED, {"spans": 2}, 1020), (1, 7, REVIEW_REOPENED, {}, 1030),
        (1, 7, REVIEW_FINISHED, {"spans": 4}, 5000),
    ]  # fmt: skip
    effort = effort_of([(*event, begun + timedelta(seconds=seconds)) for *event, seconds in events])
    assert (effort.acts, effort.bulk, effort.notes, effort.spans) == (8, 1, 2, 6)
    assert effort.seconds == 20 + 20 + 10, "breaks are left out, and so is what leads to a note"
    assert effort.acts_per_span == pytest.approx(8 / 6) and effort.seconds_per_note == 25
    assert effort_of([]).acts_per_span is None and effort_of([]).seconds_per_note is None
