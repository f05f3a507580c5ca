"""Files with many notes, another format for staged files, and imports of all notes or none."""

import io
import json
from collections import Counter
from contextlib import contextmanager

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotations.core.errors import ServiceError
from annotations.core.progress import silent
from annotations.domain.formats import FORMATS
from annotations.domain.formats.base import OneFileFormat
from annotations.domain.notes import NoteError, ParsedNote, Problem
from annotations.domain.spans import Span
from annotations.models import Document, Import
from annotations.transfer.services import reading, staged
from annotations.transfer.services.exporting import export_to_path
from annotations.transfer.services.importing import import_files, run_import

TEXT = "Anna Neri"


class Lines(OneFileFormat):
    """One JSON object per line, with name and text: as little as a format with many notes in one file can be."""

    name = "lines"
    endings = ("lines",)
    file = "notes.lines"

    def claims(self, name, head):
        return name.endswith(".lines")

    def read_many(self, note, files, labels):
        with files.open(note.bundle[0]) as rows:
            for number, row in enumerate(rows, 1):
                found = json.loads(row)
                if "text" in found:
                    spans = [Span(*span) for span in found.get("spans", [])]
                    yield ParsedNote(found["name"], found["text"], spans)
                else:
                    yield NoteError([Problem(note.bundle[0], number, "text", "The line has no text.")])

    def used_labels(self, note, files):
        with files.open(note.bundle[0]) as rows:
            for row in rows:
                yield Counter(label for _start, _end, label in json.loads(row).get("spans", []))

    @contextmanager
    def sink(self, out, labels):
        def add(note):
            spans = [[span.start, span.end, labels[span.label]] for span in note.spans]
            out.write((json.dumps({"name": note.name, "text": note.text, "spans": spans}) + "\n").encode())
            return []

        yield add


@pytest.fixture(autouse=True)
def lines(monkeypatch):
    monkeypatch.setitem(FORMATS, "lines", Lines())


def of(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def stage(world, data, **options):
    content = staged.pack([("all.lines", data)])
    choices = {"format": "auto", "written_as": "gold", "language": "", "take_duplicates": True, "actor": world.mia}
    return staged.stage_import(project=world.project, name="x.zip", content=content, **choices | options)


def names():
    return list(Document.objects.order_by("id").values_list("name", flat=True))


@pytest.fixture
def empty(world):
    Document.objects.all().delete()
    return world


def test_a_file_of_many_notes_is_previewed_and_imported(empty):
    label = "PATIENT"
    row = stage(empty, of(*({"name": f"n{at}", "text": TEXT, "spans": [[0, 4, label]]} for at in range(5))))
    assert (row.format, row.notes_found, row.labels_found) == ("lines", 5, {label: [5, 5]})
    preview = staged.preview_import(row)
    assert (preview["total"], preview["looked_at"], preview["notes"], preview["spans"]) == (5, 5, 5, 5)
    report = run_import(import_id=row.pk, progress=silent)
    assert (report["notes"], report["spans"]) == (5, 5)
    assert names() == [f"n{at}" for at in range(5)]


def test_a_preview_looks_at_the_first_notes(empty, monkeypatch):
    monkeypatch.setattr(staged, "PREVIEWED", 2)
    row = stage(empty, of(*({"name": f"n{at}", "text": TEXT} for at in range(5))))
    preview = staged.preview_import(row)
    assert (preview["total"], preview["looked_at"], preview["notes"]) == (5, 2, 2)


def test_a_killed_import_continues_inside_the_file(empty, monkeypatch):
    monkeypatch.setattr(reading, "BATCH", 2)
    row = stage(empty, of(*({"name": f"n{at}", "text": TEXT} for at in range(5))))
    seen = []

    def progress(done, total):
        seen.append((done, total))
        if done == 4 and len(seen) == 3:
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        run_import(import_id=row.pk, progress=progress)
    assert names() == ["n0", "n1", "n2", "n3"]
    run_import(import_id=row.pk, progress=progress)
    assert names() == [f"n{at}" for at in range(5)]
    assert seen == [(0, 5), (2, 5), (4, 5), (4, 5), (5, 5)]
    row.refresh_from_db()
    assert row.report["notes"] == 5


def test_two_notes_of_one_name(empty):
    report = import_files(
        project=empty.project,
        files=[("all.lines", of({"name": "a", "text": "x"}, {"name": "a", "text": "y"}))],
        format="lines",
    )
    assert (report["notes"], report["refused_notes"]) == (1, 1)
    assert report["refused"][0]["code"] == "same name"
    assert Document.objects.get().text == "x"


def test_a_note_in_a_long_file_is_not_longer_than_others(empty, settings):
    settings.NOTE_MAX_BYTES = 20
    data = of({"name": "short", "text": "àèìòù"}, {"name": "long", "text": "àèìòù" * 3})
    report = import_files(project=empty.project, files=[("all.lines", data)], format="lines")
    assert (names(), report["refused_notes"]) == (["short"], 1)
    assert "Split the note" in report["refused"][0]["message"]


def test_all_or_nothing_takes_everything_back(empty, monkeypatch):
    monkeypatch.setattr(reading, "BATCH", 1)
    row = stage(empty, of({"name": "a", "text": "x"}, {"name": "b"}, {"name": "c", "text": "z"}), all_or_nothing=True)
    with pytest.raises(ServiceError, match=r"because a note was refused\. all\.lines, line 2: The line has no text\."):
        run_import(import_id=row.pk, progress=silent)
    row.refresh_from_db()
    assert row.report["refused_notes"] == 1


def test_the_command_imports_all_or_nothing(empty, tmp_path):
    path = tmp_path / "all.lines"
    path.write_bytes(of({"name": "a", "text": "x"}, {"name": "b"}))
    with pytest.raises(CommandError, match="Nothing was imported"):
        call_command("import_documents", "covid", str(tmp_path), "--all-or-nothing", "--format", "auto")
    assert names() == []
    call_command("import_documents", "covid", str(tmp_path), stdout=io.StringIO())
    assert names() == ["a"]


def test_another_format_for_staged_files(empty, sign_in):
    mia = sign_in(empty.mia)
    content = staged.pack([("a.txt", TEXT.encode()), ("a.ann", b"T1\tPATIENT 0 4\tAnna\n")])
    row = staged.stage_import(
        project=empty.project, name="x.zip", content=content, format="conll", written_as="gold", language="",
        take_duplicates=False, actor=empty.mia,
    )  # fmt: skip
    page = reverse("import_preview", args=["covid", row.pk])
    assert mia.post(page, {"do": "format", "format": "brat"}).status_code == 302
    row.refresh_from_db()
    assert (row.format, row.labels_found) == ("brat", {"PATIENT": [1, 1]})
    assert mia.post(page, {"do": "format", "format": "pdf"}).status_code == 409
    assert mia.post(page, {"do": "format", "format": "text"}).status_code == 409  # holds no annotations
    mia.post(page, {"do": "all"})
    assert Import.objects.get(pk=row.pk).all_or_nothing
    mia.post(page, {"do": "readable"})
    assert not Import.objects.get(pk=row.pk).all_or_nothing
    run_import(import_id=row.pk, progress=silent)
    assert mia.post(page, {"do": "format", "format": "conll"}).status_code == 409


def test_an_export_writes_one_file(world, tmp_path):
    import_files(
        project=world.project,
        files=[("all.lines", of(*({"name": f"n{at}", "text": TEXT, "spans": [[0, 4, "PATIENT"]]} for at in range(3))))],
        format="lines",
        written_as="run:r",
        take_duplicates=True,
    )
    report = export_to_path(project=world.project, out=tmp_path / "out", format="lines", set_spec="run:r")
    assert (report["notes"], report["spans"]) == (3, 3)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["export.json", "notes.lines"]
    rows = [json.loads(row) for row in (tmp_path / "out" / "notes.lines").read_text().splitlines()]
    assert [row["name"] for row in rows] == ["n0", "n1", "n2"]
