"""HL7 v2: text of OBX segments, one note for each message."""

import pytest

from annotations.domain.documents.base import Extracted
from tests.domain.documents.helpers import mapped, read, refusal, results

MSH = r"MSH|^~\&|LAB|HOSP|EMR|HOSP|202003031200||ORU^R01|1|P|2.5"
PID = "PID|1||12345^^^HOSP^MR~999||Nunez^Ana"


def message(*segments, msh=MSH):
    return "\r".join((msh, PID, *segments)) + "\r"


def test_lines_of_a_report_are_lines_and_reports_are_parts():
    note = read(
        "a.hl7",
        message(
            "OBR|1",
            "OBX|1|TX|18842-5^Summary||D. José Núñez",
            "OBX|2|TX|18842-5^Summary||acude por dolor.",
            "OBX|3|NM|GLU||90|mg/dl",
            "OBX|4|FT|IMP||Impresión:\\.br\\sin \\H\\cambios\\N\\ A\\T\\B \\X20AC\\ 5\\F\\6",
            "NTE|1||Revisado por Dra. Ávila",
        ),
    )
    assert mapped(note) == [
        ("OBX 1", "D. José Núñez\nacude por dolor."),
        ("OBX 4", "Impresión:\nsin cambios A&B \ufffd 5|6\nRevisado por Dra. Ávila"),
    ]
    assert note.patient_id == "12345"
    (warning,) = note.warnings
    assert "1 OBX" in warning and "NM" in warning


@pytest.mark.parametrize("line_break", ["\r", "\n", "\r\n"])
def test_many_messages_are_many_notes_and_empty_ones_are_named_by_line(line_break):
    batch = [
        "FHS|^~\\&",
        "BHS|^~\\&",
        MSH,
        PID,
        "OBX|1|TX|||one~again",
        MSH,
        PID,
        MSH,
        "OBX|1|ST|||three",
        "BTS|3",
        "FTS|1",
    ]
    found = results("dir/b.hl7", line_break.join(batch))
    assert [(each.name, each.text) for each in found if isinstance(each, Extracted)] == [
        ("dir/b-00001", "one\nagain"),
        ("dir/b-00003", "three"),
    ]
    (problem,) = [problem for each in found if not isinstance(each, Extracted) for problem in each.problems]
    assert (problem.line, problem.code) == (6, "no text")


def test_mllp_frames_and_other_separators():
    data = "\x0b" + "MSH!*%$?!LAB!\rOBX!1!TX!!!a$F$b $R$ c\r" + "\x1c\r"
    assert read("a.hl7", data).text == "a!b % c"


@pytest.mark.parametrize(
    ("stated", "encoding"), [("8859/1", "iso8859-1"), ("8859/2", "iso8859-2"), ("UNICODE UTF-8", "utf-8")]
)
def test_the_stated_character_set_is_used(stated, encoding):
    text = "Łódź" if encoding == "iso8859-2" else "Muñoz"
    note = read("a.hl7", message(f"OBX|1|TX|||{text}", msh=f"{MSH}||||||{stated}").encode(encoding))
    assert (note.text, note.encoding, note.warnings) == (text, encoding, ())


def test_broken_messages_are_refused():
    assert refusal("a.hl7", "PID|1\rOBX|1|TX|||x").code == "damaged"
    problem = refusal("a.hl7", "MSH|^~\\")
    assert (problem.line, problem.code) == (1, "hl7")
    assert read("a.hl7", message("OBX|1|TX|||" + "\\X" * 50_000)).parts
