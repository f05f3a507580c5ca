"""Import: what is taken, what is refused and why, and that nothing half-imported stays."""

import io
import zipfile

import pytest

from annotations.core.errors import ServiceError
from annotations.core.progress import Cancelled, silent
from annotations.models import AnnotationSet, Assignment, Author, Document, Event, Import, Role, Span, StoredFile, Verb
from annotations.transfer.services import import_plan, importing, staged
from tests.factories import make_member, make_project, make_set

pytestmark = pytest.mark.django_db

TEXT = "Mario Rossi, 54 anni, visto a Torino.\n"
ANN = "T1\tPATIENT 0 11\tMario Rossi\nT2\tCITY 30 36\tTorino\n"


def brat(name="a", text=TEXT, ann=ANN):
    return [(f"{name}.txt", text.encode()), (f"{name}.ann", ann.encode())]


def spans_of(kind="gold"):
    rows = Span.objects.filter(annotation_set__author__kind=kind).order_by("start")
    return [(s.start, s.end, s.label.code) for s in rows.select_related("label")]


def codes(report):
    return [row["code"] for row in report["refused"]]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("uno\r\ndue\r\n", id="CRLF"),
        pytest.param("uno\rdue", id="lone CR"),
        pytest.param("\ufeffuno", id="BOM"),
        pytest.param("\n\n  uno\t\tdue  \n", id="starts with newline, tabs, trailing white space"),
        pytest.param("👩‍⚕️ dott.ssa 🇮🇹", id="emoji with ZWJ"),
        pytest.param("e\u0301 vs é", id="combining mark, not normalised"),
        pytest.param("\u202eRossi\u202c \u05d3\u05e8 كهن", id="bidi"),
        pytest.param("a\u2028b\u0085c\x0cd\x01e", id="odd separators and controls"),
    ],
)
def test_text_is_stored_exactly(text):
    project = make_project()
    importing.import_files(project=project, files=[("n.txt", text.encode())], format="text")
    note = Document.objects.get()
    assert note.text == text
    assert note.length == len(text)


def test_brat_as_gold():
    project = make_project()
    report = importing.import_files(project=project, files=brat(), format="brat", written_as="gold")
    assert (report["notes"], report["sets"], report["spans"], report["refused"]) == (1, 1, 2, [])
    assert spans_of() == [(0, 11, "PATIENT"), (30, 36, "CITY")]
    assert AnnotationSet.objects.get().state == AnnotationSet.State.SUBMITTED
    assert Event.objects.filter(verb=Verb.NOTES_IMPORTED, project_id=project.pk).count() == 1


def test_annotations_without_an_author_are_not_taken_and_that_is_said():
    report = importing.import_files(project=make_project(), files=brat(), format="brat")
    assert (report["notes"], report["sets"]) == (1, 0)
    assert report["warnings"][0]["code"] == "as"


def test_an_imported_reading_of_a_member_is_theirs_and_done():
    project = make_project()
    anna = make_member(project, Role.ANNOTATOR, "anna")
    importing.import_files(project=project, files=brat(), format="brat", written_as="annotator:anna")
    assert Author.objects.get(kind="annotator").user == anna
    assert Assignment.objects.get(user=anna).state == Assignment.State.DONE


def test_an_outside_annotator_needs_no_account():
    importing.import_files(project=make_project(), files=brat(), format="brat", written_as="annotator:guest")
    assert Author.objects.get(kind="annotator", name="guest").user is None


@pytest.mark.parametrize(
    ("files", "code"),
    [
        pytest.param([("a.txt", b"caf\xe9")], "utf8", id="not UTF-8"),
        pytest.param([("a.txt", b"a\0b")], "nul", id="NUL"),
        pytest.param(brat(ann="T1\tPATIENT 0 400\tMario\n"), "outside", id="span past the end"),
        pytest.param(brat(ann="T1\tNOBODY 0 5\tMario\n"), "label", id="unknown label"),
        pytest.param(brat(ann="T1\tPATIENT 0 5\tLuigi\n"), "quote", id="quote differs"),
        pytest.param(brat(ann="T1\tPATIENT 5 5\t\n"), "empty", id="empty span"),
        pytest.param(brat(ann="T1\tPATIENT x 5\tMario\n"), None, id="bad number"),
    ],
)
def test_a_bad_note_is_refused_whole_with_the_reason(files, code):
    project = make_project()
    good = brat("good", "Luigi Verdi.", "T1\tPATIENT 0 11\tLuigi Verdi\n")
    report = importing.import_files(project=project, files=files + good, format="brat", written_as="gold")
    assert report["refused_notes"] == 1
    assert list(Document.objects.values_list("name", flat=True)) == ["good"]
    if code is not None:
        assert code in " ".join(codes(report))
    assert "Mario" not in str(report)


def test_every_bad_line_is_named():
    ann = "T1\tNOBODY 0 5\tMario\nT2\tPATIENT 0 900\tx\n"
    report = importing.import_files(project=make_project(), files=brat(ann=ann), format="brat", written_as="gold")
    assert [row["line"] for row in report["refused"]] == [1, 2]


def test_same_name_and_text_is_another_reading_of_the_same_note():
    project = make_project()
    importing.import_files(project=project, files=brat(), format="brat", written_as="gold")
    report = importing.import_files(project=project, files=brat(), format="brat", written_as="run:rules")
    assert (report["notes"], report["sets"]) == (0, 1)
    assert Document.objects.count() == 1


def test_the_same_again_is_recognised():
    project = make_project()
    importing.import_files(project=project, files=brat(), format="brat", written_as="gold")
    report = importing.import_files(project=project, files=brat(), format="brat", written_as="gold")
    assert (report["notes"], report["sets"], report["already_there"], report["refused"]) == (0, 0, 1, [])
    assert Span.objects.count() == 2


def test_another_reading_by_the_same_author_is_refused_and_the_first_kept():
    project = make_project()
    importing.import_files(project=project, files=brat(), format="brat", written_as="gold")
    other = brat(ann="T1\tPATIENT 0 5\tMario\n")
    report = importing.import_files(project=project, files=other, format="brat", written_as="gold")
    assert codes(report) == ["other-reading"]
    assert spans_of() == [(0, 11, "PATIENT"), (30, 36, "CITY")]


def test_a_draft_is_not_overwritten_by_an_import():
    project = make_project()
    anna = make_member(project, Role.ANNOTATOR, "anna")
    importing.import_files(project=project, files=brat()[:1], format="text")
    make_set(Document.objects.get(), anna, [(0, 5, "PATIENT")])
    report = importing.import_files(project=project, files=brat(), format="brat", written_as="annotator:anna")
    assert codes(report) == ["other-reading"]
    assert spans_of("annotator") == [(0, 5, "PATIENT")]


def test_same_name_with_other_text_is_refused():
    project = make_project()
    importing.import_files(project=project, files=[("a.txt", b"one")], format="text")
    report = importing.import_files(project=project, files=[("a.txt", b"two")], format="text")
    assert codes(report) == ["other-text"]
    assert Document.objects.get().text == "one"


def test_same_text_under_another_name_is_taken_only_if_asked():
    project = make_project()
    importing.import_files(project=project, files=[("a.txt", b"one")], format="text")
    report = importing.import_files(project=project, files=[("b.txt", b"one")], format="text")
    assert codes(report) == ["duplicate"]
    assert "'a'" in report["refused"][0]["message"]
    report = importing.import_files(project=project, files=[("b.txt", b"one")], format="text", take_duplicates=True)
    assert report["notes"] == 1


def test_twins_inside_one_import_are_seen():
    files = [("a.txt", b"one"), ("b.txt", b"one")]
    report = importing.import_files(project=make_project(), files=files, format="text")
    assert (report["notes"], codes(report)) == (1, ["duplicate"])


def test_patients_come_from_the_csv_beside_the_notes():
    files = [("a.txt", b"one"), ("patients.csv", b"name,patient_id\na,P-7\n")]
    importing.import_files(project=make_project(), files=files, format="text")
    assert Document.objects.get().patient_id == "P-7"


def test_a_merged_label_still_reads():
    project = make_project()
    labels = {label.code: label for label in project.label_set.labels.all()}
    labels["DOCTOR"].merged_into = labels["PATIENT"]
    labels["DOCTOR"].save()
    ann = "T1\tDOCTOR 0 11\tMario Rossi\n"
    importing.import_files(project=project, files=brat(ann=ann), format="brat", written_as="gold")
    assert spans_of() == [(0, 11, "PATIENT")]


@pytest.mark.parametrize("spec", ["nobody", "annotator:", "run:", "judge:x"])
def test_bad_author_specs(spec):
    with pytest.raises(ServiceError, match="none of gold, annotator:NAME, run:NAME"):
        importing.import_files(project=make_project(), files=brat(), format="brat", written_as=spec)
    assert not Document.objects.exists()


def test_notes_are_handed_out_to_annotators():
    project = make_project(distribution="some", readers_per_note=1)
    readers = [make_member(project), make_member(project)]
    files = [(f"{n}.txt", f"text {n}".encode()) for n in range(6)]
    importing.import_files(project=project, files=files, format="text")
    assert [Assignment.objects.filter(user=reader).count() for reader in readers] == [3, 3]


# ── Zips ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def zipped(*entries):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in entries:
            archive.writestr(name, data)
    buffer.seek(0)
    return buffer


def stage(project, content, **options):
    given = {"format": "brat", "written_as": "gold", "language": "", "take_duplicates": False, "actor": None}
    return staged.stage_import(project=project, name="up.zip", content=content, **given | options)


@pytest.mark.parametrize("name", ["../a.txt", "x/../../a.txt", "/etc/a.txt", "..\\a.txt", "C:/a.txt"])
def test_a_zip_that_leads_outside_is_refused(name):
    entry = zipfile.ZipInfo("placeholder")
    entry.filename = name
    with pytest.raises(ServiceError, match="outside itself"):
        stage(make_project(), zipped((entry, b"x")))
    assert not Import.objects.exists()
    assert not StoredFile.objects.exists()


def test_what_is_no_zip_is_refused():
    with pytest.raises(ServiceError, match="not a readable zip"):
        stage(make_project(), io.BytesIO(b"plain"))


def test_too_large_is_refused_before_anything_is_kept(settings):
    settings.UPLOAD_MAX_BYTES = 50
    with pytest.raises(ServiceError, match="more than is taken at once"):
        stage(make_project(), zipped(*brat()))
    assert not StoredFile.objects.exists()


def test_a_zip_bomb_is_refused(settings):
    settings.UPLOAD_MAX_BYTES = 10_000
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", b"0" * 1_000_000)
    with pytest.raises(ServiceError, match="unpacked"):
        stage(make_project(), buffer)


def test_a_note_larger_than_a_note_may_be_is_refused_by_size(settings):
    settings.NOTE_MAX_BYTES = 10
    report = importing.import_files(project=make_project(), files=brat(), format="text")
    assert codes(report) == ["size"] or "size" in codes(report)


# ── As a job ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def many(count):
    return zipped(*[(f"n{n:04}.txt", f"note number {n}") for n in range(count)])


def test_staged_preview_then_run():
    project = make_project()
    row = stage(project, zipped(*brat(), ("bad.txt", b"\xff")))
    preview = staged.preview_import(row)
    assert (preview["notes"], preview["spans"], preview["refused_notes"]) == (1, 2, 1)
    assert not Document.objects.exists()
    report = importing.run_import(import_id=row.pk, progress=silent)
    assert (report["notes"], report["spans"]) == (1, 2)
    assert Import.objects.get().state == Import.State.DONE
    assert not StoredFile.objects.exists(), "the upload is gone once it is imported"
    assert importing.run_import(import_id=row.pk, progress=silent) == report, "a second run changes nothing"
    assert Document.objects.count() == 1


def test_a_killed_import_resumes_where_it_stopped(monkeypatch):
    monkeypatch.setattr(import_plan, "BATCH", 10)
    row = stage(make_project(), many(35), format="text", written_as="")

    class Killed(BaseException):
        pass

    def die(done, total):
        if done >= 20:
            raise Killed

    with pytest.raises(Killed):
        importing.run_import(import_id=row.pk, progress=die)
    assert Document.objects.count() == 20
    report = importing.run_import(import_id=row.pk, progress=silent)
    assert Document.objects.count() == 35
    assert (report["notes"], report["already_there"], report["refused"]) == (35, 0, [])


def test_a_cancelled_import_leaves_nothing(monkeypatch):
    monkeypatch.setattr(import_plan, "BATCH", 10)
    project = make_project()
    make_member(project)
    row = stage(project, many(35), format="text", written_as="")

    def stop(done, total):
        if done >= 20:
            raise Cancelled

    with pytest.raises(Cancelled):
        importing.run_import(import_id=row.pk, progress=stop)
    importing.undo_import(import_id=row.pk)
    assert not Document.objects.exists()
    assert not Assignment.objects.exists()
    assert Import.objects.get().state == Import.State.CANCELLED


def test_taking_an_import_back_keeps_notes_that_were_worked_on(monkeypatch):
    monkeypatch.setattr(import_plan, "BATCH", 10)
    project = make_project()
    anna = make_member(project)
    row = stage(project, many(15), format="text", written_as="")
    with pytest.raises(Cancelled):
        importing.run_import(import_id=row.pk, progress=lambda done, total: done and (_ for _ in ()).throw(Cancelled))
    touched = Document.objects.first()
    make_set(touched, anna, [(0, 4, "PATIENT")])
    importing.undo_import(import_id=row.pk)
    assert list(Document.objects.all()) == [touched]


def test_a_worker_without_its_lease_writes_nothing():
    row = stage(make_project(), many(5), format="text", written_as="")

    class Lost(Exception):
        pass

    def fence():
        raise Lost

    with pytest.raises(Lost):
        importing.run_import(import_id=row.pk, progress=silent, fence=fence)
    assert not Document.objects.exists()


def test_an_import_that_was_discarded_brings_nothing_in():
    row = stage(make_project(), many(5), format="text", written_as="")
    Import.objects.update(state=Import.State.CANCELLED)
    importing.run_import(import_id=row.pk, progress=silent)
    assert not Document.objects.exists()


def test_long_notes_come_in_small_batches(monkeypatch):
    """A small zip can hold gigabytes: neither the preview nor the import may have them in memory at once."""
    monkeypatch.setattr(import_plan, "BATCH_CHARACTERS", 100)
    sizes = []
    plan_notes = import_plan.plan_notes

    def watched(reading, parsed, seen):
        sizes.append(len(parsed))
        return plan_notes(reading, parsed, seen)

    monkeypatch.setattr(importing, "plan_notes", watched)
    monkeypatch.setattr(staged, "plan_notes", watched)
    project = make_project()
    files = [(f"n{number}.txt", f"{number} ".encode() * 30) for number in range(7)]
    row = stage(project, staged.pack(files), format="text", written_as="")
    preview = staged.preview_import(row)
    assert (preview["total"], preview["looked_at"]) == (7, 2)
    report = importing.run_import(import_id=row.pk, progress=silent)
    assert report["notes"] == Document.objects.count() == 7
    assert sizes == [2, 2, 2, 2, 1]


def test_a_file_damaged_inside_a_zip_is_refused_alone():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bad.txt", "".join(map(str, range(500))))
        archive.writestr("good.txt", "fine")
    data = bytearray(packed.getvalue())
    data[50:80] = bytes(byte ^ 0xFF for byte in data[50:80])
    source = importing.ZipSource(io.BytesIO(data))
    report = importing.import_source(project=make_project(), source=source, format="text")
    assert (report["notes"], codes(report)) == (1, ["zip"])


def test_two_files_of_one_name_in_a_zip_are_not_told_apart_in_silence():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive, pytest.warns(UserWarning):
        archive.writestr("n.txt", "first")
        archive.writestr("n.txt", "second")
    with pytest.raises(ServiceError, match="two files named"):
        importing.ZipSource(packed)


def test_a_file_that_cannot_be_read_is_refused_alone(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("uno")
    (tmp_path / "b.txt").write_text("due")
    listed = importing.source_at(tmp_path)
    assert listed.names() == ["a.txt", "b.txt"]
    (tmp_path / "a.txt").unlink()
    report = importing.import_source(project=make_project(), source=listed, format="text")
    assert (report["notes"], codes(report)) == (1, ["unreadable"])
    with pytest.raises(ServiceError, match="can't be read"):
        importing.import_path(project=make_project(), path=tmp_path, format="text", patients=tmp_path / "none.csv")


def test_the_conll_of_a_long_note_may_be_longer_than_a_note(settings):
    settings.NOTE_MAX_BYTES = 1024
    text = "a " * 500
    rows = "".join(f"a\t{at}\t{at + 1}\tO\n" for at in range(0, 1000, 2))
    files = [("n.txt", text.encode()), ("n.conll", rows.encode())]
    report = importing.import_files(project=make_project(), files=files, format="conll", written_as="gold")
    assert (report["sets"], report["refused"]) == (1, [])
