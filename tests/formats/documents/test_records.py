"""Notes in records of other programs: FHIR DocumentReference, OMOP NOTE, HL7 v2, and e-mail."""

# FHIR: attachments in base64, from one resource, a Bundle, or NDJSON

import base64
import io
import json
from email.message import EmailMessage

import pyarrow
import pytest
from pyarrow import parquet

from annotations.formats.documents.extracting import DocumentsFormat
from fixtures.quality.written_documents import pdf
from tests.formats.documents.helpers import found_in, mapped, read, refusal, results, said


def attachment(data, kind="text/plain"):
    return {"contentType": kind, "data": base64.b64encode(data if isinstance(data, bytes) else data.encode()).decode()}


def reference(*attachments, **more):
    contents = [{"attachment": each} for each in attachments]
    return {"resourceType": "DocumentReference", "id": "d1", "content": contents, **more}


def test_a_resource_is_a_note_with_its_patient():
    note = read("a.json", json.dumps(reference(attachment("D. José"), subject={"reference": "Patient/p-7"})))
    assert (note.name, note.text, note.patient_id) == ("a", "D. José", "p-7")
    latin = attachment("Núñez".encode("latin-1"), "text/plain; charset=iso-8859-1")
    note = read("a.json", json.dumps(reference(latin)))
    assert (note.text, said(note)) == ("Núñez", [])
    assert read("a.json", json.dumps(reference(attachment("<p>a<p>b", "text/html")))).text == "a\n\nb"
    note = read("a.json", json.dumps(reference(attachment(pdf(1).data, "application/pdf"))))
    assert (note.kind, note.text) == ("pdf", pdf(1).text)
    assert [str(part) for part in note.parts] == [part for part, _text in pdf(1).parts]


def test_of_several_forms_the_first_readable_is_taken():
    forms = [attachment(b"%PDF-1.4 broken", "application/pdf"), attachment("as text"), attachment(b"x", "image/png")]
    note = read("a.json", json.dumps(reference(*forms)))
    (warning,) = said(note)
    assert (note.text, "3 " in warning, "text" in warning) == ("as text", True, True)


def test_a_bundle_with_binaries():
    binary = {"resourceType": "Binary", "id": "b9", "data": base64.b64encode(b"from the bundle").decode()}
    by_url = reference({"contentType": "text/plain", "url": "https://example.org/fhir/Binary/b9"})
    resources = [reference(attachment("one")), binary, by_url, {"resourceType": "Patient"}]
    bundle = {"resourceType": "Bundle", "entry": [{"resource": each} for each in resources]}
    notes, _problems = found_in(results("b.json", json.dumps(bundle)))
    assert notes == [("b-00001", "one"), ("b-00002", "from the bundle")]
    # By the address in the Bundle, which may be no id, or name a version
    for url, address in (
        ("urn:uuid:11111111-2222-3333-4444-555555555555", "urn:uuid:11111111-2222-3333-4444-555555555555"),
        ("https://example.org/b", "https://example.org/b"), ("x", "Binary/b9/_history/2"),
    ):  # fmt: skip
        entries = [{"fullUrl": url, "resource": binary}, {"resource": reference({"url": address})}]
        assert read("b.json", json.dumps({"resourceType": "Bundle", "entry": entries})).text == "from the bundle"


def test_ndjson_goes_on_after_a_resource_that_cannot_be_read():
    lines = [reference(attachment("one")), reference({"url": "https://example.org/x"}), reference(attachment("three"))]
    notes, problems = found_in(results("b.ndjson", "\n".join(map(json.dumps, lines))))
    assert [text for _name, text in notes] == ["one", "three"] and [problem[1] for problem in problems] == [2]


UNREADABLE = [
    ({"resourceType": "Patient"}, "no document", "no FHIR DocumentReference"),
    (reference(), "attachment", "no attachment"),
    (reference({"contentType": "text/plain", "data": "%%%"}), "attachment", "not base64"),
    (reference({"contentType": "text/plain"}), "attachment", "no data"),
    (reference(attachment("x", "image/png")), "attachment", "“image/png”"),
    (reference(attachment(b"%PDF-1.4", "application/pdf")), "attachment", "damaged"),
]


@pytest.mark.parametrize(("resource", "code", "words"), UNREADABLE)
def test_what_cannot_be_read_says_why(resource, code, words):
    problem = refusal("a.json", json.dumps(resource))
    assert (problem.code, words in problem.message) == (code, True)


def test_broken_json_is_refused_with_its_line():
    problem = refusal("a.json", '{"resourceType":\n "DocumentReference",,}')
    assert (problem.code, problem.line) == ("json", 1)
    assert refusal("a.json", '{"resourceType": ' * 100_000).code == "nesting"
    text = json.dumps(reference(attachment("x")))
    assert read("a.json", text.replace("d1", "\\ud800")).text == "x"  # unpaired surrogates do no harm


# ── OMOP NOTE ────────────────────────────────────────────────────────────────────────────────────────────────────────


ROWS = [
    {"note_id": 1, "person_id": 7, "note_text": 'D. José, "cita"\nlínea 2', "note_date": "2020-01-01"},
    {"note_id": 2, "person_id": 8, "note_text": "😀", "note_date": "2020-01-02"},
]


def csv(rows=ROWS, separator=","):
    def cell(value):
        return '"' + str(value).replace('"', '""') + '"'

    lines = [separator.join(rows[0]), *(separator.join(map(cell, row.values())) for row in rows)]
    return "\r\n".join(lines) + "\r\n"


def table(rows=ROWS):
    out = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(rows), out)
    return out.getvalue()


TABLES = [
    ("note.csv", csv()), ("note.csv", csv().replace("note_text", "NOTE_TEXT")), ("note.tsv", csv(separator="\t")),
    ("note.csv", csv(separator=";")), ("note.csv", "\ufeff" + csv()), ("note.csv", csv().encode("utf-16")),
    ("note.parquet", table()),
]  # fmt: skip


OTHER_TABLES = [
    ("notes.csv", 'note_id,subject_id,charttime,text\n1,77,2101-02-03,"Seen by Dr Petrie\nin room 4"\n',
     ("notes/1", "Seen by Dr Petrie\nin room 4", "77")),
    ("NOTEEVENTS.csv", 'ROW_ID,SUBJECT_ID,CATEGORY,TEXT\n1,77,Nursing,"Seen"\n', ("NOTEEVENTS/1", "Seen", "77")),
    ("a.tsv", '"Name"\t"Text"\nx/y\tSeen\n', ("a/x-y", "Seen", "")),
    ("a.csv", "id;note\n7;Seen\n", ("a/7", "Seen", "")),
]  # fmt: skip


@pytest.mark.parametrize(("name", "data", "note"), OTHER_TABLES)
def test_a_table_with_other_columns(name, data, note):
    assert DocumentsFormat().claims(name, data.encode())
    found = read(name, data)
    assert (found.name, found.text, found.patient_id) == note


@pytest.mark.parametrize(("name", "data"), TABLES)
def test_each_row_is_a_note(name, data):
    found = results(name, data)
    rows = [("note/1", 'D. José, "cita"\nlínea 2', "7"), ("note/2", "😀", "8")]
    assert [(each.name, each.text, each.patient_id) for each in found] == rows


def test_the_source_map_leads_to_the_line():
    assert mapped(read("note.csv", csv([ROWS[0]]))) == [("row 3", 'D. José, "cita"\nlínea 2')]
    assert mapped(results("note.parquet", table())[1]) == [("row 2", "😀")]


def test_rows_that_hold_no_note_are_named_by_line():
    others = [{"note_text": "again"}, {"note_id": 3, "note_text": " "}, {"note_id": ""}]
    _notes, problems = found_in(results("note.csv", csv([ROWS[1], *(ROWS[1] | other for other in others)])))
    assert [problem[1:] for problem in problems] == [(3, "note_id"), (4, "no text"), (5, "note_id")]
    text = "D. José Muñoz Núñez, de 45 años"
    note = read("note.csv", csv([{"note_id": 1, "note_text": text}]).encode("cp1252"))
    assert (note.text, note.encoding, "guessed" in said(note)[0]) == (text, "cp1252", True)
    long = "palabra " * 50_000
    assert read("note.csv", csv([{"note_id": 1, "note_text": long}])).text == long


BROKEN_TABLES = [
    ("note.csv", "note_id,note_text\r\n", "no rows"), ("note.csv", 'note_id,note_text\r\n1,"open', "csv"),
    ("note.csv", "xnote_id,note_text\r\n1,2\r\n", "columns"),
    ("note.csv", "id,start,end,text\r\n1,2,3,4\r\n", "columns"), ("note.parquet", table()[:-20], "parquet"),
    ("note.parquet", table([{"id": 1}]), "columns"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "data", "code"), BROKEN_TABLES)
def test_broken_tables_are_refused(name, data, code):
    problem = refusal(name, data)
    assert (problem.file, problem.code) == (name, code)


# ── HL7 v2 ───────────────────────────────────────────────────────────────────────────────────────────────────────────


MSH = r"MSH|^~\&|LAB|HOSP|EMR|HOSP|202003031200||ORU^R01|1|P|2.5"
PID = "PID|1||12345^^^HOSP^MR~999||Nunez^Ana"


def message(*segments, msh=MSH):
    return "\r".join((msh, PID, *segments)) + "\r"


def test_lines_of_a_report_are_lines_and_reports_are_parts():
    segments = [
        "OBR|1", "OBX|1|TX|18842-5^Summary||D. José Núñez", "OBX|2|TX|18842-5^Summary||acude por dolor.",
        "OBX|3|NM|GLU||90|mg/dl", "OBX|4|FT|IMP||Impresión:\\.br\\sin \\H\\cambios\\N\\ A\\T\\B \\X20AC\\ 5\\F\\6",
        "NTE|1||Revisado por Dra. Ávila",
    ]  # fmt: skip
    note = read("a.hl7", message(*segments))
    assert mapped(note) == [
        ("OBX 1", "D. José Núñez\nacude por dolor."),
        ("OBX 4", "Impresión:\nsin cambios A&B \ufffd 5|6\nRevisado por Dra. Ávila"),
    ]
    (warning,) = said(note)
    assert (note.patient_id, "1 OBX" in warning, "NM" in warning) == ("12345", True, True)
    # MLLP frames and other separators
    assert read("a.hl7", "\x0b" + "MSH!*%$?!LAB!\rOBX!1!TX!!!a$F$b $R$ c\r" + "\x1c\r").text == "a!b % c"


@pytest.mark.parametrize("line_break", ["\r", "\n", "\r\n"])
def test_many_messages_are_many_notes_and_empty_ones_are_named_by_line(line_break):
    batch = ["FHS|^~\\&", "BHS|^~\\&", MSH, PID, "OBX|1|TX|||one~again", MSH, PID, MSH, "OBX|1|ST|||three", "BTS|3"]
    notes, problems = found_in(results("dir/b.hl7", line_break.join([*batch, "FTS|1"])))
    assert notes == [("dir/b-00001", "one\nagain"), ("dir/b-00003", "three")]
    assert [problem[1:] for problem in problems] == [(6, "no text")]


@pytest.mark.parametrize(
    ("stated", "encoding"), [("8859/1", "iso8859-1"), ("8859/2", "iso8859-2"), ("UNICODE UTF-8", "utf-8")]
)
def test_the_stated_character_set_is_used(stated, encoding):
    text = "Łódź" if encoding == "iso8859-2" else "Muñoz"
    note = read("a.hl7", message(f"OBX|1|TX|||{text}", msh=f"{MSH}||||||{stated}").encode(encoding))
    assert (note.text, note.encoding, said(note)) == (text, encoding, [])


WRITTEN_LOOSELY = [
    # A line feed in a value, at its end, and a table with bars.
    (["OBX|1|TX|F||Polyps up to 6 \nmm; call 555-0142||||||F", "OBX|2|TX|F||End\n\nof all"],
     [("OBX 1", "Polyps up to 6 \nmm; call 555-0142\nEnd\n\nof all")], ""),
    (["OBX|1|FT|F||Seen||||||F\nby Dr Gil | Ana\nMRI", "NTE|1||and\nagain|x\nhere"],
     [("OBX 1", "Seen\nby Dr Gil | Ana\nMRI\nand\nagain\nhere")], ""),
    # Comments on the patient, on an order, on a value without text, and on an order after results.
    (["NTE|1||says Nita~at home", "OBR|1", "NTE|1||for Dr Gil", "NTE|2||urgent", "OBX|1|NM|N||9", "NTE|1||low"],
     [("NTE 1", "says Nita\nat home"), ("NTE 2", "for Dr Gil\nurgent"), ("OBX 1", "low")], "1 OBX value"),
    (["OBX|1|TX|F||Normal", "OBR|2", "NTE|1||for Dr Gil"], [("OBX 1", "Normal"), ("NTE 1", "for Dr Gil")], ""),
    # What stands outside values is named.
    (["OBX|1|TX|F||a", "PV1|1\nlost", "ZTX|1|b", "DG1|1|c", "OBR"], [("OBX 1", "a")], "2 segments of other kinds"),
    (["OBX|1|TX|F||a", "PV1|1\nlost"], [("OBX 1", "a")], "1 line "),
    (["OBX|1|TX|F||a\nweight | 70 kg||||F\nb"], [("OBX 1", "a\nweight\nb")], "1 OBX value seems"),
    (["OBX|1|ST|F||9|mg/dl|3-5|||F", "OBX|2|TX|F||a|||N|||F"], [("OBX 1", "9\na")], ""),
]  # fmt: skip


@pytest.mark.parametrize(("segments", "parts", "warned"), WRITTEN_LOOSELY)
def test_each_line_is_kept_or_warned_about(segments, parts, warned):
    for text in (message(*segments), message(*segments).replace("\r", "\n"), message(*segments).replace("\r", "\r\n")):
        note = read("a.hl7", text)
        assert (mapped(note), any(warned in each for each in said(note))) == (parts, bool(warned))


def test_each_patient_of_a_message_is_a_note():
    lund = "PID|2||77^^^HOSP||Lund^Marga"
    text = message("OBX|1|TX|||one", PID, "OBX|2|TX|||two", lund, "NTE|1||three", "OBX|1|TX|||four")
    first, second = results("a.hl7", text)
    assert (first.name, first.text, first.patient_id) == ("a-00001", "one\n\ntwo", "12345")
    assert (second.name, second.text, second.patient_id) == ("a-00002", "three\n\nfour", "77")
    without_number = (
        message("OBX|1|TX|||one").replace("12345^^^HOSP^MR~999", "") + message("OBX|1|TX|||x")[len(MSH) + 1 :]
    )
    assert [note.patient_id for note in results("a.hl7", without_number)] == ["", "12345"]


def test_broken_messages_are_refused():
    assert refusal("a.hl7", "PID|1\rOBX|1|TX|||x").code == "damaged"
    problem = refusal("a.hl7", "MSH|^~\\")
    assert (problem.line, problem.code) == (1, "hl7") and read("a.hl7", message("OBX|1|TX|||" + "\\X" * 50_000)).parts


# ── E-mail ───────────────────────────────────────────────────────────────────────────────────────────────────────────


PART = "--b\nContent-Type: text/plain\n\nx\n"


def mail(**headers):
    message = EmailMessage()
    for name, value in ({"From": "Ana Núñez <ana@example.org>", "Subject": "Informe de José"} | headers).items():
        message[name] = value
    return message


def test_headers_and_text():
    message = mail(To="a@example.org, b@example.org", Date="Tue, 03 Mar 2020 10:00:00 +0100", Bcc="c@example.org")
    message.set_content("Hola José:\nadiós\n")
    message.add_alternative("<p>not this</p>", subtype="html")
    note = read("a.eml", message.as_bytes())
    headers = (
        "From: Ana Núñez <ana@example.org>\nTo: a@example.org, b@example.org\n"
        "Date: Tue, 03 Mar 2020 10:00:00 +0100\nSubject: Informe de José"
    )
    assert mapped(note) == [("mail headers", headers), ("mail body", "Hola José:\nadiós\n")] and said(note) == []
    # HTML, if there is no text
    message = mail()
    message.set_content("<p>Hola <b>José</b><script>x</script><p>adiós", subtype="html")
    assert mapped(read("a.eml", message.as_bytes()))[1] == ("mail body", "Hola José\n\nadiós")


def test_attachments_are_named_and_not_read():
    message = mail()
    message.set_content("See attachment.")
    message.add_attachment(b"%PDF-", maintype="application", subtype="pdf", filename="informe José.pdf")
    message.add_attachment("secret", filename="b.txt")
    note = read("a.eml", message.as_bytes())
    assert "secret" not in note.text
    (warning,) = said(note)
    assert "2 " in warning and "“informe José.pdf”, “b.txt”" in warning


def test_other_encodings_and_transfer_encodings():
    for transfer in ("quoted-printable", "base64", "8bit"):
        message = mail()
        message.set_content("Łódź źle", charset="iso-8859-2", cte=transfer)
        note = read("a.eml", message.as_bytes())
        assert (note.text.endswith("Łódź źle\n"), note.encoding) == (True, "iso8859-2")
    data = b"From: a@example.org\nContent-Type: text/plain; charset=utf-8\n\n" + "Muñoz".encode("cp1252")
    note = read("a.eml", data)
    assert note.text.endswith("Muñoz") and "not utf-8" in said(note)[0]


def test_what_is_no_mail_and_what_has_too_many_parts_is_refused():
    assert refusal("a.eml", "just some words\n").code == "no mail"
    head = "From: a@example.org\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n"
    assert refusal("a.eml", f"{head}{PART * 1001}--b--").code == "too many parts"
    inside = "From: a@example.org\nContent-Type: message/rfc822\n\n"
    assert read("a.eml", f"{inside * 50}From: b@example.org\n\ntext")
    assert refusal("a.eml", f"{inside * 5000}From: b@example.org\n\ntext").code in ("nesting", "too many parts")
