"""Import: which notes are imported, which are refused and why; in batches, of which no part remains if it fails."""

import pytest

from annotations import models
from annotations.core import suggestions
from annotations.core.services import Canceled, ServiceError, silent
from annotations.exchange.services import import_plan, importing, reading, staged
from annotations.projects.services.labels import merge_labels
from tests.exchange.brat_files import ANN, TEXT, Killed, brat, codes, many, run_until, spans_of, stage
from tests.factories import change, make_member, make_project, make_set, reread
from tests.zips import zipped

pytestmark = pytest.mark.django_db


@pytest.fixture
def project(db):
    return make_project()


@pytest.fixture
def take(project):
    """A function that imports files as gold in brat's format."""

    def take(files=None, format="brat", written_as="gold", **options):
        written_as = "" if format == "text" else written_as
        files = brat() if files is None else files
        return importing.import_files(project=project, files=files, format=format, written_as=written_as, **options)

    return take


@pytest.mark.both_databases
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("uno\r\ndue\r\n", id="CRLF"),
        pytest.param("uno\rdue", id="lone CR"),
        pytest.param("\ufeffuno", id="BOM"),
        pytest.param("\n\n  uno\t\tdue  \n", id="starts with newline, tabs, trailing white space"),
        pytest.param("👩‍⚕️ dott.ssa 🇮🇹", id="emoji with ZWJ"),
        pytest.param("e\u0301 vs é", id="combining mark, not normalized"),
        pytest.param("\u202eRossi\u202c \u05d3\u05e8 كهن", id="bidi"),
        pytest.param("a\u2028b\u0085c\x0cd\x01e", id="odd separators and controls"),
    ],
)
def test_text_is_stored_exactly(take, text):
    take([("n.txt", text.encode())], "text")
    note = models.Document.objects.get()
    assert (note.text, note.length) == (text, len(text))


def test_annotations_without_an_author_are_not_imported_and_a_warning_says_so(take):
    report = take(written_as="")
    assert (report["notes"], report["sets"], report["warnings"][0]["code"]) == (1, 0, "as")


def test_annotations_of_a_member_complete_the_assignment_and_a_guest_needs_no_account(project, take):
    anna = make_member(project, user="anna")
    take(written_as="annotator:anna")
    assert models.Author.objects.get(kind="annotator").user == anna
    assert models.Assignment.objects.get(user=anna).state == models.AssignmentState.DONE
    take(written_as="annotator:guest")
    assert models.Author.objects.get(kind="annotator", name="guest").user is None


@pytest.mark.parametrize(
    ("files", "code"),
    [
        pytest.param([("a.txt", b"caf\xe9")], "utf8", id="not UTF-8"),
        pytest.param([("a.txt", b"a\0b")], "nul", id="NUL"),
        pytest.param(brat(ann="T1\tPATIENT 0 400\tMario\n"), "outside", id="span past the end"),
        pytest.param(brat(ann="T1\tNOBODY 0 5\tMario\n"), "label", id="unknown label"),
        pytest.param(brat(ann="T1\tPATIENT 0 5\tLuigi\n"), "quote", id="quote differs"),
        pytest.param(brat(ann="T1\tPATIENT 5 5\t\n"), "empty", id="empty span"),
        pytest.param(brat(ann="T1\tPATIENT x 5\tMario\n"), "", id="bad number"),
    ],
)
def test_a_bad_note_is_refused_whole_with_the_reason(take, files, code):
    report = take(files + brat("good", "Luigi Verdi.", "T1\tPATIENT 0 11\tLuigi Verdi\n"))
    assert report["refused_notes"] == 1
    assert list(models.Document.objects.values_list("name", flat=True)) == ["good"]
    assert code in " ".join(codes(report)) and "Mario" not in str(report)


def test_the_same_annotations_change_nothing_and_others_are_refused_or_another_set(take):
    take()
    report = take()
    assert (report["notes"], report["sets"], report["already_there"], report["refused"]) == (0, 0, 1, [])
    assert codes(take(brat(ann="T1\tPATIENT 0 5\tMario\n"))) == ["other-reading"]
    assert spans_of() == [(0, 11, "PATIENT"), (30, 36, "CITY")]
    report = take(written_as="run:rules")
    assert (report["notes"], report["sets"], models.Document.objects.count()) == (0, 1, 1)


def test_a_draft_is_not_overwritten_by_an_import(project, take):
    anna = make_member(project, user="anna")
    take(brat()[:1], "text")
    make_set(models.Document.objects.get(), anna, [(0, 5, "PATIENT")])
    assert codes(take(written_as="annotator:anna")) == ["other-reading"]
    assert spans_of("annotator") == [(0, 5, "PATIENT")]


def test_the_same_name_with_other_text_and_the_same_text_with_another_name(take):
    report = take([("a.txt", b"one"), ("b.txt", b"one")], "text")
    assert (report["notes"], codes(report)) == (1, ["duplicate"])
    assert codes(take([("a.txt", b"two")], "text")) == ["other-text"]
    report = take([("b.txt", b"one")], "text")
    assert codes(report) == ["duplicate"] and "“a”" in report["refused"][0]["message"]
    assert models.Document.objects.get().text == "one"
    assert take([("b.txt", b"one")], "text", take_duplicates=True)["notes"] == 1


def test_a_merged_label_is_imported_as_its_target(project, take):
    labels = {label.code: label for label in project.label_set.labels.all()}
    change(labels["DOCTOR"], merged_into=labels["PATIENT"])
    take(brat(ann="T1\tDOCTOR 0 11\tMario Rossi\n"))
    assert spans_of() == [(0, 11, "PATIENT")]


def test_the_size_limit_is_that_of_notes_and_not_of_their_conll(take, settings):
    settings.NOTE_MAX_BYTES = 1024
    assert codes(take([("big.txt", b"x" * 1025)], "text")) == ["size"]
    rows = "".join(f"a\t{at}\t{at + 1}\tO\n" for at in range(0, 1000, 2))
    report = take([("n.txt", b"a " * 500), ("n.conll", rows.encode())], "conll")
    assert (report["sets"], report["refused"]) == (1, [])


def test_an_unreadable_file_is_refused_and_the_others_are_imported(project, tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text(name)
    listed = importing.source_at(tmp_path)
    assert listed.names() == ["a.txt", "b.txt"]
    (tmp_path / "a.txt").unlink()
    report = importing.import_source(project=project, source=listed, format="text")
    assert (report["notes"], codes(report)) == (1, ["unreadable"])
    with pytest.raises(ServiceError, match="Can't read"):
        importing.import_path(project=project, path=tmp_path, format="text", patients=tmp_path / "none.csv")


def test_imported_suggestions_can_be_reviewed_in_every_order_at_once(take):
    take(written_as="run:rules")
    sets = models.AnnotationSet.objects.filter(author__kind="run")
    assert sets and models.SuggestedNote.objects.count() == sets.count()
    labels = {(one.document_id, one.label_id) for one in models.SuggestedLabel.objects.all()}
    spans = models.Span.objects.filter(annotation_set__in=sets)
    assert labels == set(spans.values_list("annotation_set__document_id", "label_id"))


# Import as a job: preview, batches, and that no partial import remains.


def test_leaks_are_planted_in_imported_suggestions_and_removed_with_them(monkeypatch):
    monkeypatch.setattr("annotations.review.rules.planting.chance", lambda *about: 0.0)
    monkeypatch.setattr(reading, "BATCH", 2)
    project = make_project(planted_share=10)
    files = [file for name in "abcd" for file in brat(name, f"{TEXT}{name}")]
    importing.import_files(project=project, files=files, format="brat", written_as="gold")
    assert not models.Review.objects.exists(), "gold is no suggestion"
    models.AnnotationSet.objects.all().delete()

    def stop(done, total):
        if done:
            assert models.PlantedLeak.objects.filter(result="", known="string").count() == done
            # One of the two suggestions on each note is hidden, and hidden suggestions are not counted.
            assert sum(models.SuggestedString.objects.values_list("count", flat=True)) == done
        if done == 4:
            raise Canceled

    row = stage(project, zipped(files), format="brat", written_as="run:rules")
    with pytest.raises(Canceled):
        importing.run_import(import_id=row.pk, progress=stop)
    run = models.Author.objects.get(kind="run")
    assert set(models.Review.objects.values_list("author", "planted_share", "ahead")) == {(run.pk, 10, True)}
    assert suggestions.withheld(project)
    importing.undo_import(import_id=row.pk)
    assert (
        not models.Review.objects.exists()
        and not models.PlantedLeak.objects.exists()
        and not models.SuggestedString.objects.exists()
    )
    assert not suggestions.withheld(project)
    report = importing.import_files(project=project, files=files, format="brat", written_as="run:rules")
    assert (report["sets"], models.PlantedLeak.objects.count()) == (4, 4)


def test_the_job_ends_with_the_last_transaction_and_before_the_upload_is_deleted(project):
    row = stage(project, zipped(brat()))

    def lose(report):
        assert models.StoredFile.objects.exists(), "deleting the upload doesn't delay the end"
        raise Killed

    with pytest.raises(Killed):
        importing.run_import(import_id=row.pk, progress=silent, finish=lose)
    assert models.Import.objects.get().state == models.ImportState.RUNNING, (
        "a worker without its lease doesn't end the import"
    )
    finished = []
    report = importing.run_import(import_id=row.pk, progress=silent, finish=finished.append)
    assert finished == [report] and (report["notes"], report["spans"]) == (1, 2)
    assert not models.StoredFile.objects.exists()
    assert importing.run_import(import_id=row.pk, progress=silent) == report, "a further run changes nothing"
    assert models.Document.objects.count() == 1


def test_long_notes_make_small_batches(project, monkeypatch):
    """A small zip can hold gigabytes, which neither the preview nor the import may load at once."""
    monkeypatch.setattr(reading, "BATCH_CHARACTERS", 100)
    sizes = []
    plan_notes = import_plan.plan_notes

    def watched(context, parsed, seen):
        sizes.append(len(parsed))
        return plan_notes(context, parsed, seen)

    monkeypatch.setattr(import_plan, "plan_notes", watched)
    files = [(f"n{number}.txt", f"{number} ".encode() * 30) for number in range(7)]
    row = stage(project, staged.pack(files), format="text", written_as="")
    preview = staged.preview_import(row)
    assert (preview["total"], preview["looked_at"]) == (7, 2)
    assert importing.run_import(import_id=row.pk, progress=silent)["notes"] == models.Document.objects.count() == 7
    assert sizes == [2, 2, 2, 2, 1]


def test_a_label_merged_during_an_import_is_followed_by_the_later_batches(project, monkeypatch):
    monkeypatch.setattr(reading, "BATCH", 1)
    labels = {label.code: label for label in models.Label.objects.filter(label_set__project=project)}
    ann = ANN + "T3\tDOCTOR 0 11\tMario Rossi\n"
    files = [file for name in "abc" for file in brat(name, f"{TEXT}{name}", ann)]

    def progress(done, total):
        if done == 1:
            merge_labels(source=labels["DOCTOR"], target=labels["PATIENT"], actor=None)

    importing.import_files(project=project, files=files, format="brat", written_as="gold", progress=progress)
    assert sorted(spans_of()) == [(0, 11, "PATIENT")] * 3 + [(30, 36, "CITY")] * 3


def test_an_import_resumes_where_it_stopped_and_a_canceled_one_leaves_only_notes_with_annotations(project, monkeypatch):
    monkeypatch.setattr(reading, "BATCH", 10)
    anna = make_member(project)
    row = stage(project, many(35), format="text", written_as="")
    run_until(row, 20)
    assert models.Document.objects.count() == 20
    report = importing.run_import(import_id=row.pk, progress=silent)
    assert models.Document.objects.count() == 35
    assert (report["notes"], report["already_there"], report["refused"]) == (35, 0, [])
    models.Document.objects.all().delete()
    row = stage(project, many(15), format="text", written_as="")
    run_until(row, 10, Canceled)
    touched = models.Document.objects.first()
    make_set(touched, anna, [(0, 4, "PATIENT")])
    importing.undo_import(import_id=row.pk)
    assert list(models.Document.objects.all()) == [touched]
    assert list(models.Assignment.objects.values_list("document", flat=True)) == [touched.pk]
    assert reread(row).state == models.ImportState.CANCELED


def test_a_worker_without_its_lease_writes_nothing_and_a_discarded_import_adds_nothing(project):
    row = stage(project, many(5), format="text", written_as="")

    def lose():
        raise Killed

    with pytest.raises(Killed):
        importing.run_import(import_id=row.pk, progress=silent, fence=lose)
    assert not models.Document.objects.exists()
    models.Import.objects.update(state=models.ImportState.CANCELED)
    importing.run_import(import_id=row.pk, progress=silent)
    assert not models.Document.objects.exists()
