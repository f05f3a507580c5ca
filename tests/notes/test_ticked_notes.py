"""The ticks in the list of notes: assign and delete several at once."""

from django.urls import reverse

from annotations.models import Assignment, Document
from tests.worlds.checks import check_page

LIST, ASSIGN, DELETE = (reverse(name, args=["covid"]) for name in ("notes", "notes_assign", "notes_delete"))


def test_ticked_notes_are_assigned(world, sign_in):
    mia, notes = sign_in(world.mia), [note.pk for note in world.notes]
    assert check_page(mia.get(LIST)).count('name="notes"') == len(notes)
    assert 'name="notes"' not in check_page(sign_in(world.rev).get(LIST))
    Assignment.objects.all().delete()
    mia.post(ASSIGN, {"notes": notes[:1], "annotator": world.ann.pk})
    assert Assignment.objects.get().document_id == notes[0]
    assert "No note is ticked" in check_page(mia.post(ASSIGN, {"annotator": world.ann.pk}, follow=True))
    assert "Assign 2 notes" in check_page(mia.post(ASSIGN, {"notes": notes, "annotator": world.rev.pk}))
    assert Assignment.objects.count() == 1


def test_ticked_notes_are_deleted_after_a_look(world, sign_in):
    mia, notes = sign_in(world.mia), [note.pk for note in world.notes]
    html = check_page(mia.post(DELETE, {"notes": notes}))
    assert all(note.name in html for note in world.notes) and Document.objects.filter(pk__in=notes).count() == 2
    assert "2 notes were deleted" in check_page(mia.post(DELETE, {"notes": notes, "do": "delete"}, follow=True))
    assert not Document.objects.filter(pk__in=notes).exists()
    assert "No note is ticked" in check_page(mia.post(DELETE, {}, follow=True))
