"""The ticks in the list of notes: assign, export and delete several at once."""

from django.urls import reverse

from annotations.core.stored_files import open_stored
from annotations.exchange.events import NOTES_EXPORTED
from annotations.jobs.runner import run as run_job
from annotations.models import Assignment, Document, Event, Job, StoredFile
from tests import factories as make
from tests.worlds.checks import check_page
from tests.worlds.commands import printed
from tests.worlds.programs import Program
from tests.zips import unzipped

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


EXPORT, START, PREVIEW = (
    reverse(name, args=["covid"]) for name in ("notes_export", "job_start_export", "export_preview")
)


def test_only_the_ticked_notes_are_exported(world, sign_in, tmp_path, no_redis):
    mia, notes = sign_in(world.mia), [note.pk for note in world.notes]
    third = make.make_note(world.project, "Carla", "third")
    for note in (world.notes[0], third):
        make.make_set(note, world.ann, [(0, 4, "PATIENT")], submitted=True)
    assert "No note is ticked" in check_page(mia.post(EXPORT, {}, follow=True))
    html = check_page(mia.post(EXPORT, {"notes": notes}, follow=True))
    assert "Only 2 ticked notes are exported" in html and html.count('type="hidden" name="notes"') == 2
    wanted = {"set": "annotator:ann", "format": "text", "notes": notes, "token": "a"}
    assert f"&amp;notes={notes[0]},{notes[1]}" in check_page(mia.post(PREVIEW, wanted))
    mia.post(START, wanted)
    job = Job.objects.get()
    run_job(job.pk)
    names = unzipped(open_stored(StoredFile.objects.get()))
    assert [name for name in names if name.endswith(".txt")] == [f"{world.notes[0].name}.txt"]
    assert Event.objects.get(verb=NOTES_EXPORTED).data["chosen_notes"] == 2
    assert "of 2 ticked notes" in check_page(mia.get(reverse("job", args=["covid", job.number])))
    lonely = check_page(mia.post(START, wanted | {"notes": notes[1:], "token": "b"}, follow=True))
    assert "has none of the chosen notes" in lonely and "Only 1 ticked note is exported" in lonely
    body, api = {"set": "annotator:ann", "format": "text"}, Program(world.mia)
    assert api.post("/projects/covid/exports/preview", body | {"notes": [third.pk]}).json()["spans"] == 1
    for refused in ([0], [third.pk] * 51):
        answer = api.post("/projects/covid/exports", body | {"notes": refused})
        assert [error["field"] for error in answer.json()["errors"]] == ["notes"]
    words = ["--format", "text", "--set", "annotator:ann", "--note", "third"]
    report = printed("export_documents", "covid", tmp_path / "out", *words)
    assert {"set: annotator:ann", "format: text", "notes: 1"} <= set(report.splitlines())
