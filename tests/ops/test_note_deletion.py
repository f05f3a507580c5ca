"""Delete one note that was imported by mistake, with the reach of erasing a patient."""

import pytest

from annotations import models
from annotations.core.services import NOTE_DELETED, ServiceError
from annotations.gold.services.making import freeze
from annotations.ops.services.erasing import delete_note
from tests import factories as make
from tests.ops import test_erasing_everything as everything
from tests.ops.test_erasing_everything import world as full_world
from tests.worlds.checks import check_page

__all__ = ["full_world"]  # fixtures


@pytest.fixture
def address(world):
    return f"/projects/covid/notes/{world.note.pk}/delete/"


@pytest.fixture
def frozen(world):
    """Both notes have gold and annotations; a version is frozen."""
    for note in world.notes:
        make.make_set(note, world.ann, [(0, 11, "PATIENT")], submitted=True)
        make.make_set(note, "gold", [(0, 11, "PATIENT")])
    return freeze(project=world.project, actor=world.mia)[0]


def test_the_page_says_what_is_deleted(world, sign_in, address, frozen, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    (tmp_path / "backups").mkdir()
    (tmp_path / "backups" / "night.zip").write_bytes(b"")
    html = " ".join(check_page(sign_in(world.mia).get(address)).split())
    assert "<dt>Annotation sets</dt><dd>2</dd>" in html and "1 frozen gold version" in html and "night.zip" in html
    link, note = f'href="{address}"', address.removesuffix("delete/")
    seen = {person: link in check_page(sign_in(getattr(world, person)).get(note)) for person in ("mia", "rev", "vic")}
    assert seen == {"mia": True, "rev": False, "vic": False}


def test_delete_a_note(world, sign_in, address, frozen):
    make.make_set(world.note, "run:rules-1", [(0, 11, "PATIENT")])
    models.StoredFile.objects.create(project=world.project, kind=models.StoredFileKind.EXPORT, name="brat.zip")
    models.Figures.objects.create(project=world.project, kind="x", key="k", value={})
    mia = sign_in(world.mia)
    html = check_page(mia.post(address, follow=True))
    assert world.note.name not in html and world.notes[1].name in html
    assert list(models.Document.objects.filter(project=world.project)) == [world.notes[1]]
    assert (
        not models.AnnotationSet.objects.filter(document_id=world.note.pk).exists() and models.Span.objects.count() == 2
    )
    assert not models.Assignment.objects.filter(document_id=world.note.pk).exists()
    assert not models.Stale.objects.filter(document_id=world.note.pk).exists()
    assert (
        not models.SuggestedString.objects.exists()
        and not models.StoredFile.objects.exists()
        and not models.Figures.objects.exists()
    )
    version = models.GoldVersion.objects.get()
    assert (version.erased_count, version.notes.count(), version.content_hash) == (1, 1, frozen.content_hash)
    event = models.Event.objects.get(verb=NOTE_DELETED)
    assert (event.actor, event.document_id, event.data["annotation_sets"]) == (world.mia, world.note.pk, 3)
    assert "deleted a note" in mia.get("/projects/covid/audit/").content.decode()


def test_what_is_refused(world, sign_in, address):
    mia, other = sign_in(world.mia), make.make_note(world.other)
    running = models.Import.objects.create(project=world.project, format="text", state=models.ImportState.RUNNING)
    answer = mia.post(address)
    assert answer.status_code == 409 and "An import is running" in check_page(answer)
    assert models.Document.objects.filter(pk=world.note.pk).exists()
    running.delete()
    assert [mia.post(address).status_code for _ in range(2)] == [302, 302], "a second click deletes nothing more"
    assert models.Event.objects.filter(verb=NOTE_DELETED).count() == 1
    assert mia.get(address).status_code == 404
    assert mia.post(f"/projects/covid/notes/{other.pk}/delete/").status_code == 404
    assert set(models.Document.objects.all()) == {world.notes[1], other}


@pytest.mark.queue
@pytest.mark.django_db(transaction=True)
def test_two_managers_delete_it_at_once(world, at_once):
    make.make_member(world.project, models.Role.MANAGER, "max")

    def delete():
        try:
            return delete_note(project=world.project, note=world.note.pk, actor=None)["notes"]
        except ServiceError as error:
            return error.code

    assert sorted(map(str, at_once(delete, delete))) == ["1", "none"]
    assert models.Event.objects.filter(verb=NOTE_DELETED).count() == 1


@pytest.mark.queue
@pytest.mark.django_db(transaction=True)
def test_nothing_of_a_deleted_note_is_found_anywhere(full_world, caplog):
    everything.listen(caplog)
    everything.fill(full_world)
    client = everything.pages(full_world)
    for note in (full_world.note, models.Recording.objects.get().document):
        assert client.post(f"/projects/covid/notes/{note.pk}/delete/").status_code == 302
    client.get("/projects/covid/notes/")
    assert everything.found_in(everything.everywhere(full_world, caplog.text)) == []
