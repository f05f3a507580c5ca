"""Documents with random faults: each is read or refused by name, and never with an error of a library."""

import json
import random

import pytest

from annotations.formats.documents.base import ExtractedNote
from fixtures.quality.written_documents import docx, pdf
from tests.formats.documents import test_odt, test_records, test_rtf
from tests.formats.documents.helpers import results, tarred, zipped


def _mail():
    message = test_records.mail()
    message.set_content("text")
    message.add_attachment("more", filename="a.txt")
    return message.as_bytes()


WHOLE = {
    "a.pdf": pdf(1).data, "a.docx": docx(2).data, "a.odt": test_odt.odt("<text:p>a<text:s/>b</text:p>"),
    "a.rtf": test_rtf.rtf(r"{\header H\par}a\'e9\u233?{\fonttbl{\f0\fcharset204 x;}}\f0 b{\footnote c}"),
    "a.html": b"<!doctype html><html><p>a<table><tr><td>b</html>", "a.eml": _mail(), "a.txt": "año 😀".encode(),
    "a.zip": zipped({"a.txt": "a", "b.html": "<p>b"}), "a.tgz": tarred({"a.txt": b"a" * 300}, "w:gz"),
    "a.hl7": test_records.message("OBX|1|TX|||a").encode(),
    "a.json": json.dumps(test_records.reference(test_records.attachment("abc"))).encode(),
    "a.csv": test_records.csv().encode(), "a.parquet": test_records.table(),
}  # fmt: skip


def broken(data, chance):
    """Some bytes changed, removed, repeated or added."""
    found = bytearray(data)
    for _ in range(chance.choice((1, 3, 20))):
        if not found:
            break
        at = chance.randrange(len(found))
        match chance.randrange(4):
            case 0:
                found[at] = chance.randrange(256)
            case 1:
                del found[at : at + chance.randrange(1, 50)]
            case 2:
                found[at:at] = found[at : at + chance.randrange(1, 200)]
            case _:
                found[at:at] = chance.randbytes(chance.randrange(1, 8))
    return bytes(found)


@pytest.mark.parametrize("name", WHOLE)
def test_a_document_with_faults_is_read_or_refused_by_name(name):
    chance = random.Random(f"faults of {name}")
    refused = 0
    for _ in range(12):
        for each in results(name, broken(WHOLE[name], chance)):
            if isinstance(each, ExtractedNote):
                assert each.text.strip() and all(0 <= part.start < part.end <= len(each.text) for part in each.parts)
                continue
            refused += 1
            for problem in each.problems:
                assert problem.file and problem.message.endswith(".") and problem.code not in ("memory", "crash")
    assert refused or name in ("a.html", "a.rtf", "a.txt", "a.eml", "a.hl7")
