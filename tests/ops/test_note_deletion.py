"""Delete one note that was imported by mistake, with the reach of erasing a patient."""

import logging

import pytest

from annotations.core.errors import ServiceError
from annotations.core.events import NOTE_DELETED
from annotations.gold.services.making import freeze
from annotations.models import (
    AnnotationSet,
    Assignment,
    Document,
    Event,
    Figures,
    GoldVersion,
    Import,
    Role,
    Span,
    Stale,
    StoredFile,
    SuggestedString,
)
from annotations.ops.services.erasing import delete_note
from tests import factories as make
from tests.ops import test_erasing_everything as everything
from tests.ops.test_erasing_everything import fake
from tests.ops.test_erasing_everything import world as full_world
from tests.worlds.checks import check_page
from tests.worlds.managing import check_closed, check_method

__all__ = ["fake", "full_world"]  # fixtures


@pytest.fixture
def page(world):
    return f"/projects/covid/notes/{world.note.pk}/delete/"


@pytest.fixture
def frozen(world):
    """Both notes have gold and annotations; a version is frozen."""
    gold = make.make_author(world.project, kind="gold", name="gold")
    for note in world.notes:
        make.make_set(note, world.ann, [(0, 11, "PATIENT")], submitted=True)
        make.make_set(note, gold, [(0, 11, "PATIENT")], submitted=True)
    return freeze(project=world.project, actor=world.mia)[0]


def test_only_managers_delete_a_note(world, sign_in, page):
    check_closed(world, sign_in, page)
    check_closed(world, sign_in, page, "post")
    check_method(sign_in(world.mia), page)
    link = f'href="{page}"'
    note = page.removesuffix("delete/")
    assert link in check_page(sign_in(world.mia).get(note))
    for person in (world.rev, world.vic):
        assert link not in check_page(sign_in(person).get(note))


def test_the_page_says_what_is_deleted(world, sign_in, page, frozen, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    (tmp_path / "backups").mkdir()
    (tmp_path / "backups" / "night.zip").write_bytes(b"")
    html = " ".join(check_page(sign_in(world.mia).get(page)).split())
    assert "<dt>Annotation sets</dt><dd>2</dd>" in html and "You can&#x27;t undo this." in html.replace("'", "&#x27;")
    assert "1 frozen gold version contains this note. It loses the note and states so; its hash stays." in html
    assert "night.zip" in html
    assert Document.objects.filter(pk=world.note.pk).exists()


def test_delete_a_note(world, sign_in, page, frozen):
    run = make.make_author(world.project, kind="run", name="rules-1")
    make.make_set(world.note, run, [(0, 11, "PATIENT")], submitted=True)
    StoredFile.objects.create(project=world.project, kind=StoredFile.Kind.EXPORT, name="brat.zip")
    Figures.objects.create(project=world.project, kind="x", key="k", value={})
    mia = sign_in(world.mia)
    html = check_page(mia.post(page, follow=True))
    assert "The note was deleted, with everything made from it." in html
    assert world.note.name not in html and world.notes[1].name in html
    assert list(Document.objects.filter(project=world.project)) == [world.notes[1]]
    assert not AnnotationSet.objects.filter(document_id=world.note.pk).exists() and Span.objects.count() == 2
    assert not Assignment.objects.filter(document_id=world.note.pk).exists()
    assert not Stale.objects.filter(document_id=world.note.pk).exists()
    assert not SuggestedString.objects.exists() and not StoredFile.objects.exists() and not Figures.objects.exists()
    version = GoldVersion.objects.get()
    assert (version.erased_count, version.notes.count(), version.content_hash) == (1, 1, frozen.content_hash)
    assert "1 note was erased or deleted later" in mia.get("/projects/covid/gold/1/").content.decode()
    event = Event.objects.get(verb=NOTE_DELETED)
    assert (event.actor, event.document_id, event.data["annotation_sets"]) == (world.mia, world.note.pk, 3)
    assert "deleted a note" in mia.get("/projects/covid/audit/").content.decode()


def test_a_second_click_deletes_nothing_more(world, sign_in, page):
    mia = sign_in(world.mia)
    assert [mia.post(page).status_code for _ in range(2)] == [302, 302]
    assert Event.objects.filter(verb=NOTE_DELETED).count() == 1
    assert mia.get(page).status_code == 404
    assert Document.objects.filter(project=world.project).count() == 1


def test_a_note_of_another_project_is_not_reachable(world, sign_in):
    other = make.make_note(world.other)
    assert sign_in(world.mia).post(f"/projects/covid/notes/{other.pk}/delete/").status_code == 404
    assert Document.objects.filter(pk=other.pk).exists()


def test_a_running_import_has_to_end_first(world, sign_in, page):
    Import.objects.create(project=world.project, format="text", state=Import.State.RUNNING)
    answer = sign_in(world.mia).post(page)
    assert answer.status_code == 409 and "An import is running" in check_page(answer)
    assert Document.objects.filter(pk=world.note.pk).exists()


@pytest.mark.queue
@pytest.mark.django_db(transaction=True)
def test_two_managers_delete_it_at_once(world, at_once):
    make.make_member(world.project, Role.MANAGER, "max")

    def delete():
        try:
            return delete_note(project=world.project, note=world.note.pk, actor=None)["notes"]
        except ServiceError as error:
            return error.code

    assert sorted(map(str, at_once(delete, delete))) == ["1", "none"]
    assert Event.objects.filter(verb=NOTE_DELETED).count() == 1


@pytest.mark.queue
@pytest.mark.django_db(transaction=True)
def test_nothing_of_a_deleted_note_is_found_anywhere(full_world, caplog):
    world = full_world
    caplog.set_level(logging.DEBUG)
    caplog.handler.addFilter(lambda record: not record.name.startswith("django.db"))
    everything.talk(world)
    everything.jobs(world)
    everything.language_models(world)
    everything.trainings(world)
    everything.uploads(world)
    client = everything.pages(world)
    assert client.post(f"/projects/covid/notes/{world.note.pk}/delete/").status_code == 302
    client.get("/projects/covid/notes/")
    assert everything.found_in(everything.everywhere(world, caplog.text)) == []
