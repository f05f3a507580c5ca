"""Import: which notes are imported, and which are refused and why."""

import pytest

from annotations import models
from annotations.core.services import ServiceError
from annotations.exchange.services import importing
from tests.exchange.brat_files import brat, codes, spans_of
from tests.factories import make_member, make_project, make_set

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
    labels["DOCTOR"].merged_into = labels["PATIENT"]
    labels["DOCTOR"].save()
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
