"""Import: which notes are imported, and which are refused and why."""

import pytest

from annotations.core.errors import ServiceError
from annotations.models import (
    AnnotationSet,
    Assignment,
    Author,
    Document,
    Event,
    Role,
    Span,
    SuggestedLabel,
    SuggestedNote,
)
from annotations.transfer.events import NOTES_IMPORTED
from annotations.transfer.services import importing
from tests.factories import make_member, make_project, make_set
from tests.transfer.brat_files import brat, codes, spans_of

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


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
    assert Event.objects.filter(verb=NOTES_IMPORTED, project_id=project.pk).count() == 1


def test_annotations_without_an_author_are_not_imported_and_a_warning_says_so():
    report = importing.import_files(project=make_project(), files=brat(), format="brat")
    assert (report["notes"], report["sets"]) == (1, 0)
    assert report["warnings"][0]["code"] == "as"


def test_imported_annotations_of_a_member_complete_the_assignment():
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


def test_same_name_and_text_is_another_annotation_set_on_the_same_note():
    project = make_project()
    importing.import_files(project=project, files=brat(), format="brat", written_as="gold")
    report = importing.import_files(project=project, files=brat(), format="brat", written_as="run:rules")
    assert (report["notes"], report["sets"]) == (0, 1)
    assert Document.objects.count() == 1


def test_importing_the_same_annotations_again_changes_nothing():
    project = make_project()
    importing.import_files(project=project, files=brat(), format="brat", written_as="gold")
    report = importing.import_files(project=project, files=brat(), format="brat", written_as="gold")
    assert (report["notes"], report["sets"], report["already_there"], report["refused"]) == (0, 0, 1, [])
    assert Span.objects.count() == 2


def test_other_annotations_by_the_same_author_are_refused_and_the_first_kept():
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


def test_same_text_under_another_name_is_imported_only_on_request():
    project = make_project()
    importing.import_files(project=project, files=[("a.txt", b"one")], format="text")
    report = importing.import_files(project=project, files=[("b.txt", b"one")], format="text")
    assert codes(report) == ["duplicate"]
    assert "“a”" in report["refused"][0]["message"]
    report = importing.import_files(project=project, files=[("b.txt", b"one")], format="text", take_duplicates=True)
    assert report["notes"] == 1


def test_duplicates_inside_one_import_are_found():
    files = [("a.txt", b"one"), ("b.txt", b"one")]
    report = importing.import_files(project=make_project(), files=files, format="text")
    assert (report["notes"], codes(report)) == (1, ["duplicate"])


def test_patients_come_from_the_csv_beside_the_notes():
    files = [("a.txt", b"one"), ("patients.csv", b"name,patient_id\na,P-7\n")]
    importing.import_files(project=make_project(), files=files, format="text")
    assert Document.objects.get().patient_id == "P-7"


def test_a_merged_label_is_imported_as_its_target():
    project = make_project()
    labels = {label.code: label for label in project.label_set.labels.all()}
    labels["DOCTOR"].merged_into = labels["PATIENT"]
    labels["DOCTOR"].save()
    ann = "T1\tDOCTOR 0 11\tMario Rossi\n"
    importing.import_files(project=project, files=brat(ann=ann), format="brat", written_as="gold")
    assert spans_of() == [(0, 11, "PATIENT")]


@pytest.mark.parametrize("spec", ["nobody", "annotator:", "run:", "judge:x"])
def test_bad_author_specs(spec):
    with pytest.raises(ServiceError, match="must be gold, annotator:NAME or run:NAME"):
        importing.import_files(project=make_project(), files=brat(), format="brat", written_as=spec)
    assert not Document.objects.exists()


def test_notes_are_assigned_to_annotators():
    project = make_project(distribution="some", annotators_per_note=1)
    annotators = [make_member(project), make_member(project)]
    files = [(f"{n}.txt", f"text {n}".encode()) for n in range(6)]
    importing.import_files(project=project, files=files, format="text")
    assert [Assignment.objects.filter(user=annotator).count() for annotator in annotators] == [3, 3]


def test_a_note_above_the_size_limit_is_refused(settings):
    settings.NOTE_MAX_BYTES = 10
    report = importing.import_files(project=make_project(), files=brat(), format="text")
    assert codes(report) == ["size"] or "size" in codes(report)


def test_an_unreadable_file_is_refused_and_the_others_are_imported(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("uno")
    (tmp_path / "b.txt").write_text("due")
    listed = importing.source_at(tmp_path)
    assert listed.names() == ["a.txt", "b.txt"]
    (tmp_path / "a.txt").unlink()
    report = importing.import_source(project=make_project(), source=listed, format="text")
    assert (report["notes"], codes(report)) == (1, ["unreadable"])
    with pytest.raises(ServiceError, match="Can't read"):
        importing.import_path(project=make_project(), path=tmp_path, format="text", patients=tmp_path / "none.csv")


def test_the_conll_of_a_long_note_may_be_longer_than_a_note(settings):
    settings.NOTE_MAX_BYTES = 1024
    text = "a " * 500
    rows = "".join(f"a\t{at}\t{at + 1}\tO\n" for at in range(0, 1000, 2))
    files = [("n.txt", text.encode()), ("n.conll", rows.encode())]
    report = importing.import_files(project=make_project(), files=files, format="conll", written_as="gold")
    assert (report["sets"], report["refused"]) == (1, [])


def test_imported_suggestions_can_be_reviewed_in_every_order_at_once():
    importing.import_files(project=make_project(), files=brat(), format="brat", written_as="run:rules")
    sets = AnnotationSet.objects.filter(author__kind="run")
    assert sets and SuggestedNote.objects.count() == sets.count()
    labels = {(one.document_id, one.label_id) for one in SuggestedLabel.objects.all()}
    spans = Span.objects.filter(annotation_set__in=sets)
    assert labels == set(spans.values_list("annotation_set__document_id", "label_id"))
