"""FHIR DocumentReference: attachments in base64, from one resource, a Bundle, or NDJSON."""

import base64
import json

import pytest

from annotations.domain.documents.base import Extracted
from annotations.domain.notes import NoteError
from fixtures.quality.written_documents import pdf
from tests.domain.documents.helpers import read, refusal, results


def attachment(data, kind="text/plain"):
    return {"contentType": kind, "data": base64.b64encode(data if isinstance(data, bytes) else data.encode()).decode()}


def reference(*attachments, **more):
    contents = [{"attachment": each} for each in attachments]
    return {"resourceType": "DocumentReference", "id": "d1", "content": contents, **more}


def test_a_resource_is_a_note_with_its_patient():
    note = read("a.json", json.dumps(reference(attachment("D. José"), subject={"reference": "Patient/p-7"})))
    assert (note.name, note.text, note.patient_id) == ("a", "D. José", "p-7")


def test_the_stated_character_set_and_html():
    latin = attachment("Núñez".encode("latin-1"), "text/plain; charset=iso-8859-1")
    note = read("a.json", json.dumps(reference(latin)))
    assert (note.text, note.warnings) == ("Núñez", ())
    assert read("a.json", json.dumps(reference(attachment("<p>a<p>b", "text/html")))).text == "a\n\nb"


def test_a_pdf_keeps_its_pages():
    written = pdf(1)
    note = read("a.json", json.dumps(reference(attachment(written.data, "application/pdf"))))
    assert (note.kind, note.text) == ("pdf", written.text)
    assert [str(part) for part in note.parts] == [part for part, _text in written.parts]


def test_of_several_forms_the_first_readable_is_taken():
    forms = [attachment(b"%PDF-1.4 broken", "application/pdf"), attachment("as text"), attachment(b"x", "image/png")]
    note = read("a.json", json.dumps(reference(*forms)))
    assert note.text == "as text"
    (warning,) = note.warnings
    assert "3 " in warning and "text" in warning


def test_a_bundle_with_binaries():
    binary = {"resourceType": "Binary", "id": "b9", "data": base64.b64encode(b"from the bundle").decode()}
    by_url = reference({"contentType": "text/plain", "url": "https://example.org/fhir/Binary/b9"})
    bundle = {
        "resourceType": "Bundle",
        "entry": [
            {"resource": each} for each in (reference(attachment("one")), binary, by_url, {"resourceType": "Patient"})
        ],
    }
    found = results("b.json", json.dumps(bundle))
    assert [(each.name, each.text) for each in found if isinstance(each, Extracted)] == [
        ("b-00001", "one"),
        ("b-00002", "from the bundle"),
    ]


def test_ndjson_goes_on_after_a_resource_that_cannot_be_read():
    lines = [reference(attachment("one")), reference({"url": "https://example.org/x"}), reference(attachment("three"))]
    found = results("b.ndjson", "\n".join(map(json.dumps, lines)))
    assert [each.text for each in found if isinstance(each, Extracted)] == ["one", "three"]
    (problem,) = next(each for each in found if isinstance(each, NoteError)).problems
    assert problem.line == 2
    assert "“d1”" in problem.message


@pytest.mark.parametrize(
    ("resource", "code", "words"),
    [
        ({"resourceType": "Patient"}, "no document", "no FHIR DocumentReference"),
        (reference(), "attachment", "no attachment"),
        (reference({"contentType": "text/plain", "data": "%%%"}), "attachment", "not base64"),
        (reference({"contentType": "text/plain"}), "attachment", "no data"),
        (reference(attachment("x", "image/png")), "attachment", "“image/png”"),
        (reference(attachment(b"%PDF-1.4", "application/pdf")), "attachment", "damaged"),
    ],
)
def test_what_cannot_be_read_says_why(resource, code, words):
    problem = refusal("a.json", json.dumps(resource))
    assert problem.code == code
    assert words in problem.message


def test_broken_json_is_refused_with_its_line():
    problem = refusal("a.json", '{"resourceType":\n "DocumentReference",,}')
    assert (problem.code, problem.line) == ("json", 1)
    assert refusal("a.json", '{"resourceType": ' * 100_000).code == "nesting"


def test_unpaired_surrogates_become_replacement_characters():
    text = json.dumps(reference(attachment("x")))
    assert read("a.json", text.replace("d1", "\\ud800")).text == "x"
