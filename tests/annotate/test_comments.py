"""Comments: who sees and does what, once only, and never an annotation."""

import json
import uuid
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotations import models
from annotations.core.access import enter
from annotations.notes.selectors.comments import CommentThread, threads
from annotations.notes.services import talk as service
from annotations.ops.services.erasing import erase_patient
from tests import factories as make
from tests.annotate.conftest import alter, do, made, step
from tests.annotate.test_views import post
from tests.worlds.checks import check_page
from tests.worlds.pages import signed_in


def say(world: SimpleNamespace, user: models.User, act: str = "add", **data: Any) -> Any:
    path = reverse("comments", args=[world.project.slug, world.note.pk])
    return post(signed_in(user), path, {"act": act, "change_id": str(uuid.uuid4())} | data)


def talk(world: SimpleNamespace, user: models.User) -> list[dict[str, Any]]:
    answer = signed_in(user).get(reverse("talk", args=[world.project.slug, world.note.pk]))
    assert answer.status_code == 200
    return list(answer.json()["threads"])


def texts(world: SimpleNamespace, user: models.User) -> list[str]:
    return [thread["text"] for thread in talk(world, user)]


def all_threads(world: SimpleNamespace, user: models.User) -> list[CommentThread]:
    """What the note's page shows: everything that the person may see."""
    return threads(enter(user, "covid"), world.note)


def test_annotators_stay_blind_to_each_other(world: SimpleNamespace) -> None:
    for person, text in ((world.ann, "Is this a city?"), (world.ben, "Mine.")):
        assert say(world, person, text=text).status_code == 200
        assert texts(world, person) == [text]
    for person in (world.rev, world.vic, world.mia):
        found = all_threads(world, person)
        assert [(one.text, one.annotation_set) for one in found] == [("Is this a city?", "ann"), ("Mine.", "ben")]
        # Their own annotate page shows only comments on their own annotations.
        assert texts(world, person) == []
    assert [thread["annotation_set"] for thread in talk(world, world.ann)] == [""]
    pk = models.Comment.objects.get(author=world.ann).pk
    for act in ("edit", "delete"):
        assert say(world, world.rev, act, comment=pk, text="x").status_code == 403
    for act in ("edit", "delete", "resolve", "answer"):
        assert say(world, world.ben, act, comment=pk, text="x").status_code == 404
    assert texts(world, world.ann) == ["Is this a city?"]


def test_a_reviewers_word_about_the_note_is_told_once_it_is_adjudicated(world: SimpleNamespace, ann: Client) -> None:
    path = reverse("comments", args=[world.project.slug, world.note.pk])
    # From the note's page, which shows no annotator's set.
    assert signed_in(world.rev).post(path, {"act": "add", "text": "Look at line 1.", "set": ""}).status_code == 302
    assert models.Comment.objects.get().annotator_id is None
    assert texts(world, world.ann) == []
    author = make.make_author(world.project, kind="adjudicated", name="adjudicated")
    outcome = make.make_set(world.note, author)
    assert texts(world, world.ann) == []
    models.AnnotationSet.objects.filter(pk=outcome.pk).update(state=models.AnnotationSetState.SUBMITTED)
    # Others may have submitted, and been adjudicated, before this annotator has.
    own = make.make_set(world.note, world.ann, [(0, 11, "PATIENT")])
    assert texts(world, world.ann) == []
    models.AnnotationSet.objects.filter(pk=own.pk).update(state=models.AnnotationSetState.SUBMITTED)
    assert texts(world, world.ann) == ["Look at line 1."]
    # They have seen the outcome: if they submit again, the set is not blind.
    for act in ("reopen", "submit"):
        ann.post(reverse(act, args=[world.project.slug, world.note.pk]))
    assert not models.AnnotationSet.objects.get(pk=own.pk).blind
    make.change(world.project, show_outcome=False)
    assert texts(world, world.ann) == []


def test_a_reviewer_answers_an_annotator(world: SimpleNamespace) -> None:
    annotation_set = make.make_set(world.note, world.ann, [(0, 11, "PATIENT")])
    path = reverse("comments", args=[world.project.slug, world.note.pk])
    signed_in(world.rev).post(path, {"act": "add", "text": "Without the title.", "set": annotation_set.pk})
    (thread,) = talk(world, world.ann)
    assert (thread["author"], thread["own"]) == ("rev", False)
    assert say(world, world.ann, "answer", comment=thread["id"], text="I see.").status_code == 200
    # An answer to an answer belongs to the thread.
    inner = all_threads(world, world.rev)[0].answers[0].id
    assert say(world, world.rev, "answer", comment=inner, text="Good.").status_code == 200
    assert [answer["text"] for answer in talk(world, world.ann)[0]["answers"]] == ["I see.", "Good."]
    assert texts(world, world.ben) == []


def test_on_a_span_that_is_deleted_and_comes_back(world: SimpleNamespace) -> None:
    span = made(world, "Torino", "CITY")
    assert say(world, world.ann, span=span["id"], start=0, end=1, text="Or a hospital?").status_code == 200
    bounds = span["start"], span["end"]

    def shown() -> tuple[Any, ...]:
        (thread,) = talk(world, world.ann)
        return thread["span"], (thread["start"], thread["end"]), thread["gone"]

    assert shown() == (span["id"], bounds, False)
    do(world, alter("delete", span))
    assert shown() == (span["id"], bounds, True)
    do(world, step("undo"))
    assert shown() == (span["id"], bounds, False)
    # It goes with its span when that is resized.
    models.Span.objects.filter(pk=span["id"]).update(start=span["start"] + 1)
    assert shown() == (span["id"], (span["start"] + 1, span["end"]), False)
    other = make.make_set(world.note, world.ben, [(0, 11, "PATIENT")]).spans.get()
    assert say(world, world.ann, span=other.pk, start=0, end=5, text="x").status_code == 200
    assert models.Comment.objects.get(text="x").span_id is None, "a span of another set"
    assert say(world, world.ann, span=other.pk, text="x").status_code == 409


def test_threads_stand_in_the_order_of_the_text(world: SimpleNamespace) -> None:
    for start, text in ((20, "b"), (3, "a"), (None, "note")):
        say(world, world.ann, text=text, start=start, end=None if start is None else start + 2)
    assert texts(world, world.ann) == ["note", "a", "b"]


def test_an_answer_brings_the_one_thread_that_was_changed(world: SimpleNamespace) -> None:
    for text in ("One", "Two"):
        say(world, world.ann, text=text)
    one, two = models.Comment.objects.order_by("pk")
    said = say(world, world.ann, "answer", comment=one.pk, text="Yes").json()
    assert (said["root"], said["thread"]["text"], len(said["thread"]["answers"])) == (one.pk, "One", 1)
    assert "Two" not in json.dumps(said)
    answer = models.Comment.objects.latest("pk").pk
    assert say(world, world.ann, "resolve", comment=answer).status_code == 400
    for _ in range(2):
        assert say(world, world.ann, "resolve", comment=one.pk).json()["thread"]["resolved"] == "ann"
        changed = say(world, world.ann, "edit", comment=two.pk, text="Too").json()["thread"]
        assert (changed["text"], changed["edited"]) == ("Too", True)
    for verb in ("comment.resolved", "comment.changed"):
        assert models.Event.objects.filter(verb=verb).count() == 1
    assert say(world, world.ann, "open", comment=one.pk).json()["thread"]["resolved"] == ""
    gone = say(world, world.ann, "delete", comment=two.pk).json()
    assert (gone["root"], gone["thread"]) == (two.pk, None)


def test_comments_of_a_person_and_answers_have_limits(world: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MOST_OF_A_PERSON", 3)
    monkeypatch.setattr(service, "MOST_ANSWERS", 1)
    last = {"change_id": str(uuid.uuid4()), "text": "Three"}
    assert [say(world, world.ann, text=text).status_code for text in ("One", "Two")] == [200, 200]
    told = [say(world, world.ann, **last).json()["thread"] for _ in range(2)]
    assert told[0] == told[1], "a replay makes no second comment"
    assert say(world, world.ben, **last).status_code == 409
    refused = say(world, world.ann, text="Four")
    assert (refused.status_code, refused.json()["error"]) == (422, "many")
    root = models.Comment.objects.order_by("pk")[0].pk
    assert [say(world, world.rev, "answer", comment=root, text=text).status_code for text in "ab"] == [200, 422]
    assert models.Comment.objects.count() == models.Event.objects.filter(verb="comment.added").count() == 4


def test_deleting_keeps_a_thread_that_was_answered(world: SimpleNamespace) -> None:
    say(world, world.ann, text="Rossi is the doctor")
    root = models.Comment.objects.get().pk
    say(world, world.rev, "answer", comment=root, text="No.")
    answer = models.Comment.objects.exclude(pk=root).get().pk
    assert say(world, world.ann, "delete", comment=root).status_code == 200
    (thread,) = talk(world, world.ann)
    assert (thread["text"], thread["deleted"], len(thread["answers"])) == ("", True, 1)
    assert not models.Comment.objects.filter(text__contains="Rossi").exists()
    assert say(world, world.ann, "edit", comment=root, text="x").status_code == 409
    # Deleting the last answer deletes the empty thread too.
    assert say(world, world.rev, "delete", comment=answer).status_code == 200
    assert models.Comment.objects.count() == 0
    assert say(world, world.rev, "delete", comment=answer).status_code == 404


def test_events_hold_no_text(world: SimpleNamespace) -> None:
    say(world, world.ann, text="Secretword", start=0, end=5)
    pk = models.Comment.objects.get().pk
    say(world, world.rev, "answer", comment=pk, text="Secretword too")
    say(world, world.ann, "edit", comment=pk, text="Secretword three")
    for act in ("resolve", "delete"):
        say(world, world.ann, act, comment=pk)
    verbs = list(models.Event.objects.values_list("verb", flat=True))
    assert verbs == [f"comment.{verb}" for verb in ("added", "added", "changed", "resolved", "deleted")]
    assert "ecretword" not in json.dumps(list(models.Event.objects.values_list("data", flat=True)))


def test_reviewers_see_and_answer_on_the_notes_page(world: SimpleNamespace) -> None:
    annotation_set = make.make_set(world.note, world.ann, [(0, 11, "PATIENT")])
    say(world, world.ann, span=annotation_set.spans.get().pk, text="Or his <b>father</b>?")
    page = reverse("note", args=["covid", world.note.pk])
    html = check_page(signed_in(world.rev).get(f"{page}?set={annotation_set.pk}"))
    assert "Or his &lt;b&gt;father&lt;/b&gt;?" in html
    assert '<a href="#L1">line 1</a> <q dir="auto">Mario Rossi</q>' in html
    form = {"act": "answer", "comment": models.Comment.objects.get().pk, "text": "His own.", "set": annotation_set.pk}
    answer = signed_in(world.rev).post(reverse("comments", args=["covid", world.note.pk]), form, follow=True)
    assert answer.redirect_chain == [(f"{page}?set={annotation_set.pk}#comments", 302)]
    assert "His own." in check_page(answer)
    annotation_set.spans.get().delete()
    assert "(span deleted)" in check_page(signed_in(world.rev).get(page))
    # A viewer only reads.
    html = check_page(signed_in(world.vic).get(page))
    assert "His own." in html and "<textarea" not in html


def test_what_is_refused(world: SimpleNamespace) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        *(({"text": text}, "text") for text in ("", "  ", "x" * 4001, None, ["x"])),
        *(({"text": text}, "malformed") for text in ("a\0b", "\ud83d")),
        *(({"start": at, "end": end}, "location") for at, end in ((5, 5), (6, 5), (0, 10_000), (None, 3), (3, None))),
        ({"act": "burn"}, "malformed"), ({"span": "one"}, "malformed"), ({"start": -1, "end": 2}, "malformed"),
        ({"start": 10**12, "end": 10**13}, "malformed"), ({"change_id": "7"}, "malformed"),
        ({"act": "answer"}, "malformed"), ({"act": "delete", "comment": True}, "malformed"),
    ]  # fmt: skip
    for data, error in wrong:
        answer = say(world, world.ann, **{"act": "add", "text": "x"} | data)
        assert (answer.status_code, answer.json()["error"]) == (400, error), data
        assert "xxx" not in answer.json()["message"]
    # Another person signed in in the same browser since the page was opened.
    assert say(world, world.ann, text="x", person=world.ben.pk).status_code == 409
    assert not models.Comment.objects.exists()
    path = reverse("comments", args=["covid", world.note.pk])
    answer = signed_in(world.rev).post(path, {"act": "add", "text": " "}, follow=True)
    assert "Not saved." in check_page(answer)


def test_comments_go_with_an_erased_note(world: SimpleNamespace) -> None:
    type(world.note).objects.filter(pk=world.note.pk).update(patient_id="P1")
    say(world, world.ann, text="x")
    say(world, world.rev, "answer", comment=models.Comment.objects.get().pk, text="y")
    erase_patient(project=world.project, patient_id="P1", actor=world.mia)
    assert models.Comment.objects.count() == 0


# ── Flags: raised with a reason, shown in lists, cleared by their author or a reviewer ──


def flag(world: SimpleNamespace, user: models.User, act: str = "raise", **data: Any) -> Any:
    path = reverse("flag", args=["covid", world.note.pk])
    return post(signed_in(user), path, {"act": act, "reason": "text"} | data)


def seen(world: SimpleNamespace, user: models.User) -> list[tuple[str, str, bool]]:
    answer = signed_in(user).get(reverse("talk", args=["covid", world.note.pk]))
    return [(item["by"], item["reason"], item["own"]) for item in answer.json()["flags"]]


def listed(world: SimpleNamespace, user: models.User, state: str = "") -> str:
    return signed_in(user).get(reverse("notes", args=["covid"]) + state).content.decode()


def test_a_flag_and_who_sees_it(world: SimpleNamespace) -> None:
    assert flag(world, world.ann, text="Half of it is missing").status_code == 200
    assert flag(world, world.rev, reason="unsure").status_code == 200
    assert seen(world, world.ann) == [("ann", "text", True)]
    assert seen(world, world.ben) == []
    assert seen(world, world.rev) == [("rev", "unsure", True), ("ann", "text", False)]
    assert seen(world, world.vic) == [("ann", "text", False), ("rev", "unsure", False)]


def test_one_open_flag_for_each_person(world: SimpleNamespace) -> None:
    for _ in range(2):
        flag(world, world.ann)
    flag(world, world.ann, reason="language")
    assert models.Flag.objects.get().reason == "language"
    assert models.Event.objects.filter(verb="note.flagged").count() == 2
    flag(world, world.ann, "clear", flag=models.Flag.objects.get().pk)
    flag(world, world.ann)
    assert models.Flag.objects.count() == 2
    assert seen(world, world.ann) == [("ann", "text", True)]


def test_clearing(world: SimpleNamespace) -> None:
    flag(world, world.ann, text="Secretword <b>")
    pk = models.Flag.objects.get().pk
    assert flag(world, world.ben, "clear", flag=pk).status_code == 404
    assert flag(world, world.vic, "clear", flag=pk).status_code == 403
    for _ in range(2):
        assert flag(world, world.rev, "clear", flag=pk).status_code == 200
    row = models.Flag.objects.get()
    assert row.cleared_by == world.rev and row.cleared_at is not None
    assert seen(world, world.ann) == []
    assert models.Event.objects.filter(verb="note.unflagged").count() == 1
    assert flag(world, world.rev, "clear", flag=10**12).status_code == 404
    assert "ecretword" not in json.dumps(list(models.Event.objects.values_list("data", flat=True)))


def test_refused(world: SimpleNamespace) -> None:
    for data, error in (
        ({"reason": "boredom"}, "reason"), ({"reason": None}, "reason"), ({"reason": "other"}, "text"),
        ({"text": "x" * 501}, "text"), ({"text": "a\0"}, "malformed"), ({"text": ["x"]}, "text"),
    ):  # fmt: skip
        answer = flag(world, world.ann, **data)
        assert (answer.status_code, answer.json()["error"]) == (400, error), data
    assert not models.Flag.objects.exists()


def test_without_script(world: SimpleNamespace) -> None:
    """A form redirects to its page with the error message."""
    path = reverse("flag", args=["covid", world.note.pk])
    answer = signed_in(world.ann).post(path, {"act": "raise", "reason": "other"}, follow=True)
    assert answer.redirect_chain == [(reverse("annotate", args=["covid", world.note.pk]) + "#flags", 302)]
    assert "describe the problem" in answer.content.decode()
    signed_in(world.rev).post(path, {"act": "raise", "reason": "other", "text": "Look"})
    assert models.Flag.objects.get().text == "Look"


def test_the_lists_of_notes(world: SimpleNamespace) -> None:
    other = make.make_note(world.project, "Other.", "caso-002", annotators=[world.ann])
    for person in (world.ann, world.rev):
        assert "caso-001" not in listed(world, person, "?state=flagged")
    flag(world, world.ann)
    assert "flagged</span>" not in listed(world, world.ben)
    for person in (world.ann, world.rev):
        assert "flagged</span>" in listed(world, person)
    flag(world, world.ben, reason="unsure")
    assert "2 people" in listed(world, world.rev) and "2 people" not in listed(world, world.ann)
    flag(world, world.rev)
    for person in (world.ann, world.rev):
        html = listed(world, person, "?state=flagged")
        assert html.count("caso-001</a>") == 1 and other.name not in html
    # The note's page keeps the filter for the next note.
    page = reverse("note", args=["covid", world.note.pk])
    assert signed_in(world.rev).get(f"{page}?state=flagged").status_code == 200
    models.Assignment.objects.filter(user=world.ann).update(state=models.AssignmentState.RELEASED)
    assert "caso-001" not in listed(world, world.ann, "?state=flagged")
    assert "caso-001" in listed(world, world.rev, "?state=flagged")
