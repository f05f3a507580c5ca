"""The index over the texts of notes: it spares searches most notes, and changes no result."""

import threading
from pathlib import Path

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from annotations.core.hooks import relay_steps
from annotations.core.services import keep_labels
from annotations.models import Document, Import, ImportState, NoteIndex
from annotations.notes.selectors import searching
from annotations.notes.services import searching as indexing
from annotations.notes.services.searching import index_notes
from annotations.ops.services.erasing import delete_note, erase_patient
from tests import factories as make
from tests.notes.test_searching import SEARCH, look
from tests.waiting import HANGS
from tests.worlds.checks import bytes_elsewhere

pytestmark = pytest.mark.both_databases
NAMES = ["Rossi", "Bianchi", "José Peña", "Jose\u0301 Pen\u0303a", "WEISS", "Weiß", "Νavarro", "İnci", "Łukasz", "x"]


@pytest.fixture(autouse=True)
def _few_notes_in_a_row(monkeypatch):
    monkeypatch.setattr(NoteIndex, "SIZE", 8)
    monkeypatch.setattr(indexing, "SECONDS", HANGS)  # A call indexes all, however busy this machine is.
    monkeypatch.setattr(searching, "BATCH", 3)


@pytest.fixture
def ward(world):
    """31 more notes. ann, who may open some of them, has marked the names in two."""
    for number in range(31):
        name = NAMES[number % len(NAMES)]
        people = [world.ann] if number % 3 else []
        note = make.make_note(
            world.project, f"{name}, la nota-{number}", f"w-{number:02}", patient_id=name, annotators=people
        )
        if number in (1, 10):
            make.make_set(note, world.ann, [(0, len(name), "PATIENT")])
    return world


def indexed(project) -> list[int]:
    return [note for row in NoteIndex.objects.filter(project=project) for note in row.notes]


def shown(client, text, **options):
    """All pages of a search: names of notes, counts of hits, and how many notes were searched."""
    page = (answer := look(client, text, **options)).context["page"]
    found = [(note.name, note.count) for note in page.notes]
    while page.next is not None:
        page = client.get(f"{answer.request['PATH_INFO']}?after={page.next}").context["page"]
        found += [(note.name, note.count) for note in page.notes]
    return found


def test_the_results_are_those_without_the_index(ward, sign_in, monkeypatch):
    people = [sign_in(ward.ann), sign_in(ward.rev)]
    texts = ["rossi", "jose pena", "Peña", "weiß", "inci", "la nota-2", "ta-2", "x", "Zanetti"]
    options = [{}, {"loose": "on"}, {"case": "on", "word": "on"}, {"where": "unlabeled"}]
    monkeypatch.setattr(searching, "NOTES", 12)

    def everything():
        return [shown(client, text, **how) for client in people for text in texts for how in options]

    before = everything()
    index_notes()
    assert len(indexed(ward.project)) == 32 and Document.objects.filter(project=ward.project).count() == 33
    assert everything() == before
    assert sum(map(len, before)) > 100


def test_a_search_reads_only_notes_that_may_match(ward, rev):
    assert index_notes in relay_steps
    index_notes()
    url = rev.post(SEARCH, {"text": "ta-17"}).url
    with CaptureQueriesContext(connection) as queries:
        page = rev.get(url).context["page"]
    assert [note.name for note in page.notes] == ["w-17"]
    assert (page.looked, page.next) == (33, None), "the notes that the index passes over count as searched"
    read = [query["sql"] for query in queries if '"annotations_document"."text"' in query["sql"]]
    assert len(read) == 3, "one query for the note, two for the note that is not indexed yet and for the end"
    bits = [query["sql"] for query in queries if "annotations_noteindex" in query["sql"]]
    assert len(bits) == 4, "1, 2 and 1 rows of the index; there are no more"
    assert "SUBSTR" in bits[0].upper() and '"bits" ' not in bits[0]


def test_new_notes_are_indexed_once_there_are_enough(ward):
    index_notes()
    first = indexed(ward.project)
    for number in range(7):
        make.make_note(ward.project, f"Neue Notiz {number}", f"new-{number}")
    index_notes()
    assert len(indexed(ward.project)) == 40 and indexed(ward.project)[:32] == first
    assert indexed(ward.project) == sorted(indexed(ward.project))


def test_notes_of_an_import_under_way_wait(ward):
    # Cancelling the import removes them again.
    running = Import.objects.create(project=ward.project, format="text", state=ImportState.RUNNING)
    index_notes()
    assert not NoteIndex.objects.exists()
    Import.objects.filter(pk=running.pk).update(state=ImportState.DONE)
    index_notes()
    assert indexed(ward.project)


@pytest.mark.django_db(transaction=True)
def test_a_note_that_another_transaction_adds_is_not_left_out(ward, sign_in):
    if connection.vendor == "sqlite":
        pytest.skip("SQLite's transactions write one by one.")
    added, go_on = threading.Event(), threading.Event()

    def add():
        try:
            with transaction.atomic():
                keep_labels(ward.project.pk)
                make.make_note(ward.project, "Wieczorek, nota 99", "slow")
                added.set()
                assert go_on.wait(HANGS)
        finally:
            connection.close()

    thread = threading.Thread(target=add)
    thread.start()
    assert added.wait(HANGS)
    for number in range(8):  # with higher ids
        make.make_note(ward.project, f"Neue Notiz {number}", f"new-{number}")
    index_notes()
    assert not NoteIndex.objects.exists()
    go_on.set()
    thread.join(HANGS)
    index_notes()
    assert Document.objects.get(name="slow").pk in indexed(ward.project)
    assert shown(sign_in(ward.rev), "wieczorek") == [("slow", 1)]


def contents(project) -> dict[int, tuple[int, bytes]]:
    return {row.last: (row.shift, bytes(row.bits)) for row in NoteIndex.objects.filter(project=project)}


def test_nothing_of_an_erased_note_stays_in_the_index(ward, sign_in):
    index_notes()
    before, notes = contents(ward.project), set(indexed(ward.project))
    erase_patient(project=ward.project, patient_id="Łukasz", actor=None)
    assert delete_note(project=ward.project, note=Document.objects.get(name="w-03").pk, actor=None)["notes"] == 1
    left = set(Document.objects.filter(project=ward.project).values_list("pk", flat=True)) & notes
    assert set(indexed(ward.project)) == left and len(notes - left) == 4
    erased = contents(ward.project)
    assert all(erased[last] != before[last] for last in before)
    NoteIndex.objects.all().delete()
    assert shown(sign_in(ward.rev), "Łukasz") == []


@pytest.mark.django_db(transaction=True)
def test_the_bytes_of_an_erased_note_are_overwritten(ward):
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL removes deleted bytes with VACUUM.")
    index_notes()
    before = contents(ward.project)
    files = [str(connection.settings_dict["NAME"]) + end for end in ("", "-wal")]

    def stored(bits: bytes) -> bool:
        return any(bits in bytes_elsewhere(file) for file in files if Path(file).exists())

    assert all(stored(bits) for _, bits in before.values())
    erase_patient(project=ward.project, patient_id="Łukasz", actor=None)
    after = contents(ward.project)
    changed = [last for last in before if before[last] != after[last]]
    assert len(changed) == 3
    assert not any(stored(before[last][1]) for last in changed)


def test_a_note_erased_meanwhile_is_not_indexed(ward, monkeypatch):
    signatures = indexing.signatures

    def erased_meanwhile(texts, size):
        if Document.objects.filter(patient_id="Łukasz").exists():
            erase_patient(project=ward.project, patient_id="Łukasz", actor=None)
        return signatures(texts, size)

    monkeypatch.setattr(indexing, "signatures", erased_meanwhile)
    index_notes()
    assert not NoteIndex.objects.exists()
    index_notes()
    notes = set(Document.objects.filter(project=ward.project).values_list("pk", flat=True))
    assert indexed(ward.project) and set(indexed(ward.project)) <= notes
