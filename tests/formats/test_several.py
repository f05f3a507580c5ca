"""Files of several formats at once: which format reads which file, and what belongs to no note."""

import json

import pytest

from annotations.exchange.services.input_formats import input_format
from annotations.exchange.services.sources import MemorySource
from annotations.formats.several import SeveralFormats

ANN = b"T1\tPATIENT 0 4\tAnna\n"
CONLL = b"# columns: token start end tag\nAnna\t0\t4\tB-PATIENT\n"
ROWS = b"Anna B-PATIENT\nNeri I-PATIENT\n\nseen O\ntoday O\n"
DOCCANO = b'{"name": "d", "text": "Anna", "label": [[0, 4, "PATIENT"]]}\n'
PRODIGY = json.dumps({"text": "Bo", "tokens": [], "spans": [{"start": 0, "end": 2, "label": "PATIENT"}]}).encode()
I2B2 = b"<deIdi2b2><TEXT><![CDATA[Anna]]></TEXT><TAGS></TAGS></deIdi2b2>"
BRAT = {"a.txt": b"Anna", "a.ann": ANN}


@pytest.mark.parametrize(
    ("files", "expected", "problems"),
    [
        # A text belongs to the annotations of its name; a text alone is a note.
        (BRAT | {"b.conll": CONLL, "b.txt": b"Anna", "c.txt": b"x"}, {"a": "brat", "b": "conll", "c": "text"}, []),
        (BRAT | {"d.jsonl": DOCCANO, "c.txt": b"x"}, {"a": "brat", "d": "doccano", "c": "text"}, []),
        ({"d.jsonl": DOCCANO, "c.txt": b"x"}, {"d": "doccano", "c": "text"}, []),
        # Files with one ending, each in its own format.
        ({"d.jsonl": DOCCANO, "p.jsonl": PRODIGY}, {"d": "doccano", "p": "prodigy"}, []),
        # A file of many notes takes the texts of its folder.
        (
            BRAT | {"in/all.conll": b"-DOCSTART-\tx\n".join([b"# columns: token start end tag\n", b"Anna\t0\t4\tO\n"]),
                    "in/x.txt": b"Anna", "y.txt": b"y"},
            {"a": "brat", "in/all": "conll", "y": "text"}, [],
        ),
        # Two annotation files of one note.
        (BRAT | {"a.conll": CONLL, "d.jsonl": DOCCANO}, {"a": "brat", "d": "doccano"}, [("a.conll", "same name")]),
        # What is in no format goes to one that reads its ending, which says what is wrong, or is a stray.
        (BRAT | {"d.jsonl": DOCCANO, "e.json": b"{}", "f.bin": b"\0"}, {"a": "brat", "d": "doccano", "e": "doccano"},
         [("f.bin", "unknown file")]),
        (BRAT | {"d.jsonl": DOCCANO, "g.ann": ANN}, {"a": "brat", "d": "doccano"}, [("g.ann", "no text")]),
        # Any XML file could be inline XML: beside another XML format it is not.
        (BRAT | {"h.xml": I2B2, "pom.xml": b"<project/>"}, {"a": "brat", "h": "i2b2", "pom": "i2b2"}, []),
        (BRAT | {"k.xml": b"<note>by <DOCTOR>Bo</DOCTOR></note>"}, {"a": "brat", "k": "inline"}, []),
    ],
)  # fmt: skip
def test_each_file_is_read_in_the_format_that_claims_it(files, expected, problems):
    source = MemorySource(list(files.items()))
    assert input_format("auto", source.names(), source) == "several"
    groups, found = SeveralFormats(source).group(source.names())
    assert {group.name: group.format for group in groups} == expected
    assert [(each.file, each.code) for each in found] == problems


@pytest.mark.parametrize(
    ("files", "format"),
    [
        (BRAT | {"c.txt": b"x <b>y</b>"}, "brat"),
        ({"a.conll": ROWS, "b.conll": ROWS.replace(b"B-", b"S-")}, "conll2003"),
        ({"h.xml": I2B2, "pom.xml": b"<project/>"}, "i2b2"),
        (BRAT | {"d.jsonl": DOCCANO, "e.rtf": b"{\\rtf1 Bo}"}, "several+docs"),
        ({"d.jsonl": DOCCANO, "e.txt": "è".encode("cp1252")}, "several+docs"),
    ],
)
def test_what_counts_as_several_formats(files, format):
    source = MemorySource(list(files.items()))
    assert input_format("auto", source.names(), source) == format


def test_where_the_first_files_of_a_folder_differ_all_are_looked_at(monkeypatch):
    monkeypatch.setattr("annotations.formats.registry.LOOKED_AT", 2)
    monkeypatch.setattr("annotations.formats.several.LOOKED_AT", 2)
    files = {f"{at}.jsonl": DOCCANO if at % 2 else PRODIGY for at in range(5)} | {
        f"x/{at}.jsonl": DOCCANO for at in range(4)
    }
    source = MemorySource(list(files.items()))
    groups, _problems = SeveralFormats(source).group(source.names())
    assert sorted(group.name for group in groups if group.format == "prodigy") == ["0", "2", "4"] and len(groups) == 9
