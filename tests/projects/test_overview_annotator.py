"""Ann annotates: one button to the next note, what is left, replies to her, and outcomes; nothing about others."""

import pytest
from django.utils import timezone

from annotations.models import Assignment, Comment
from tests import factories as make
from tests.projects.overview_pages import (
    SPAN,
    adjudicate,
    grow,
    plain,
    queries,
    rows,
    section,
    show,
    stages,
    submit,
    url,
)


@pytest.fixture
def ann(world, sign_in):
    return sign_in(world.ann)


def comment(world, author, **about):
    return Comment.objects.create(
        **({"document": world.note, "annotator": world.ann, "text": "Why?", "author": author} | about)
    )


def test_one_button_leads_to_the_next_note(world, ann):
    html = section(show(ann), "Your notes")
    assert f'<a class="btn primary go" href="{url("next_note")}">Start' in html
    assert "0 done, 2 to do" in html
    Assignment.objects.filter(document=world.note, user=world.ann).update(state=Assignment.State.DONE)
    html = section(show(ann), "Your notes")
    assert ">Continue<" in html
    assert "1 done, 1 to do" in html


def test_when_all_is_done_there_is_no_button(world, ann):
    Assignment.objects.update(state=Assignment.State.DONE)
    html = show(ann)
    assert "You have submitted all your notes." in html
    assert url("next_note") not in html


def test_replies_until_they_are_answered_or_resolved(world, ann):
    assert section(show(ann), "Replies to you") == ""
    root = comment(world, world.ann)
    comment(world, world.rev, answers=root)
    found = rows(show(ann), "Replies to you")
    assert list(found.values()) == [url("annotate", world.note.pk)]
    assert next(iter(found)).startswith("caso-001: 1 comment, ")
    comment(world, world.ann, answers=root)
    assert section(show(ann), "Replies to you") == ""
    comment(world, world.rev, answers=root)
    assert section(show(ann), "Replies to you")
    Comment.objects.filter(pk=root.pk).update(resolved_at=timezone.now())
    assert section(show(ann), "Replies to you") == ""


def test_threads_that_a_reviewer_begins_are_replies_too(world, ann):
    comment(world, world.rev)
    comment(world, world.mia)
    assert "2 comments" in section(show(ann), "Replies to you")


def test_deleted_comments_and_comments_of_others_are_none(world, ann):
    comment(world, world.rev, text="")
    comment(world, world.rev, annotator=world.ben)
    comment(world, world.rev, annotator=None)
    assert section(show(ann), "Replies to you") == ""


def test_comments_on_a_note_that_is_no_longer_assigned_are_left_out(world, ann):
    comment(world, world.rev)
    Assignment.objects.filter(document=world.note, user=world.ann).update(state=Assignment.State.RELEASED)
    assert section(show(ann), "Replies to you") == ""


def test_outcomes_of_own_submitted_notes(world, ann):
    adjudicate(world, world.note)
    adjudicate(world, world.notes[1])
    own = make.make_set(world.note, world.ann, SPAN)
    make.make_set(world.notes[1], world.ben, SPAN, submitted=True)
    assert section(show(ann), "Outcomes of your notes") == ""
    own.state = "submitted"
    own.save()
    html = section(show(ann), "Outcomes of your notes")
    assert "1 of your notes is adjudicated." in plain(html)
    assert url("outcome", world.note.pk) in html
    assert "caso-002" not in html
    assert ann.get(url("outcome", world.note.pk)).status_code == 200


def test_no_outcomes_where_the_project_hides_them_or_the_note_was_released(world, ann):
    adjudicate(world, world.note)
    make.make_set(world.note, world.ann, SPAN, submitted=True)
    assert section(show(ann), "Outcomes of your notes")
    Assignment.objects.filter(document=world.note, user=world.ann).update(state=Assignment.State.RELEASED)
    assert section(show(ann), "Outcomes of your notes") == ""
    Assignment.objects.update(state=Assignment.State.DONE)
    world.project.show_outcome = False
    world.project.save()
    assert section(show(ann), "Outcomes of your notes") == ""


def test_nothing_about_others(world, ann):
    submit(world, world.ben)
    html = show(ann)
    assert stages(html) == {}
    for words in ("ben", "Needs you", "To review", "Agreement", "Scores", "Annotated", "People"):
        assert words not in plain(html.partition("<main")[2]), words


def test_a_reviewer_with_notes_of_their_own_sees_them_too(world, sign_in):
    make.make_note(world.project, annotators=[world.rev])
    assert "0 done, 1 to do" in section(show(sign_in(world.rev)), "Your notes")
    assert section(show(sign_in(world.mia)), "Your notes") == ""


def test_the_number_of_queries_does_not_grow(world, ann):
    submit(world, world.ann, world.ben)
    adjudicate(world, world.note)
    comment(world, world.rev)
    before = queries(ann)
    grow(world)
    assert queries(ann) == before
    assert before <= 10
