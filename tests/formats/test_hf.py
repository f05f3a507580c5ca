"""Hugging Face data sets, opened and written by `datasets` itself where it is installed."""

import io
import json
import re

import pyarrow
import pytest
from hypothesis import given
from pyarrow import parquet

from annotations.formats.base import NoteFiles
from annotations.formats.hf import HuggingFaceFormat
from annotations.formats.notes import NoteError, OutNote
from annotations.text.bio import encode
from annotations.text.labels import CategoryDef, LabelDef, LabelSetDef
from annotations.text.spans import Span
from tests.formats.helpers import NAMES, OnDisk, outcomes, parsed, read_all, read_one, refused, said, write_one
from tests.text.strategies import LABELS, texts_with_apart_spans

HF = HuggingFaceFormat()
CLASSES = ["O", *(f"{mark}-{label}" for label in LABELS for mark in "BI")]


def written(*notes):
    out = io.BytesIO()
    with HF.sink(out, NAMES) as add:
        for note in notes:
            assert add(note) == []
    return out.getvalue()


def as_parquet(rows, metadata=None):
    out = io.BytesIO()
    table = pyarrow.Table.from_pylist(rows)
    given = {"huggingface": json.dumps({"info": {"features": metadata}})} if metadata else None
    parquet.write_table(table.replace_schema_metadata(given), out)
    return out.getvalue()


def test_a_label_outside_the_label_set_is_a_loss():
    files, losses = write_one("hf", "Anna 1", [Span(0, 4, "NAME"), Span(5, 6, "AGE")])
    assert [loss.span for loss in losses] == [Span(5, 6, "AGE")] and read_one("hf", files).spans == [Span(0, 4, "NAME")]


def test_files_that_spans_and_tags_contradict():
    files, _ = write_one("hf", "Anna Neri", [Span(0, 4, "NAME")])
    changed = parquet.read_table(io.BytesIO(files["a.parquet"])).set_column(5, "ner_tags", pyarrow.array([[0, 1]]))
    out = io.BytesIO()
    parquet.write_table(changed, out)
    assert said(refused("hf", {"a.parquet": out.getvalue()})) == [(None, "tags")]
    out = io.BytesIO()
    parquet.write_table(changed.drop_columns(["spans"]), out)
    assert read_one("hf", {"a.parquet": out.getvalue()}).spans == [Span(5, 9, "NAME")]


# With `datasets`


def export(folder, parts):
    """The data set that `datasets` finds in the folder of an export."""
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    files = {HF.path(part): written(*notes) for part, notes in parts.items()} | HF.extra_files(LABEL_SET)
    for name, data in {**files, "losses.csv": b'"a"\r\n', "export.json": b"{}"}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return datasets.load_dataset(str(folder), cache_dir=str(folder.parent / "cache"))


LABEL_SET = LabelSetDef("x", "X", "", "", (), (CategoryDef("A", "A", tuple(LabelDef(c, c) for c in LABELS)),))


def test_datasets_opens_the_folder_of_an_export(tmp_path):
    spans = [Span(1, 5, "NAME"), Span(1, 10, "NAME"), Span(14, 15, "DATE")]
    notes = [OutNote("a", "\ufeffAnna Neri\r\n😀 1", spans), OutNote("sub/b", "", [])]
    found = export(tmp_path / "export", {"": notes})
    assert list(found) == ["train"]
    train = found["train"]
    assert train.features["ner_tags"].feature.names == CLASSES and train["name"][:] == ["a", "sub/b"]
    assert train["text"][:] == [note.text for note in notes]
    first = train[0]
    assert first["tokens"] == ["Anna", "Neri", "😀", "1"]
    assert [CLASSES[tag] for tag in first["ner_tags"]] == ["B-NAME", "I-NAME", "O", "B-DATE"]
    assert [Span(span["start"], span["end"], span["label"]) for span in first["spans"]] == spans
    train.to_parquet(str(tmp_path / "again.parquet"))
    train.to_json(str(tmp_path / "again.jsonl"))
    train.save_to_disk(str(tmp_path / "disk"))
    for file in (tmp_path / "again.parquet", *(tmp_path / "disk").glob("*.arrow")):
        back = parsed("hf", {f"x/{file.name}": file.read_bytes()})
        assert [(n.name, n.text, n.spans) for n in back] == [(n.name, n.text, n.spans) for n in notes]
    beside = {"a/x.jsonl": (tmp_path / "again.jsonl").read_bytes()}
    beside["a/dataset_info.json"] = (tmp_path / "disk" / "dataset_info.json").read_bytes()
    assert [n.spans for n in parsed("hf", beside)] == [n.spans for n in notes]


def test_datasets_makes_a_split_of_each_folder(tmp_path):
    names = {"train": ["a", "b"], "dev": ["c"], "test": ["d"]}
    parts = {f"{part}/": [OutNote(name, "Anna", [Span(0, 4, "NAME")]) for name in some] for part, some in names.items()}
    assert {split: rows["name"][:] for split, rows in export(tmp_path / "export", parts).items()} == names


@given(made=texts_with_apart_spans())
def test_what_datasets_writes_is_read(tmp_path, made):
    datasets = pytest.importorskip("datasets")
    text, spans = made
    encoded = encode(text, spans)
    string = datasets.Value("string")
    tags = datasets.Sequence(datasets.ClassLabel(names=CLASSES))
    features = {"id": string, "text": string, "tokens": datasets.Sequence(string), "ner_tags": tags}
    tokens = [text[token.start : token.end] for token in encoded.tokens]
    row = {"id": ["n"], "text": [text], "tokens": [tokens], "ner_tags": [encoded.tags]}
    datasets.disable_progress_bars()
    datasets.Dataset.from_dict(row, features=datasets.Features(features)).to_parquet(str(tmp_path / "a.parquet"))
    note = read_one("hf", {"a.parquet": (tmp_path / "a.parquet").read_bytes()})
    assert (note.name, note.text, note.spans, note.warnings) == ("n", text, spans, [])


# As others write them

ROW = {"id": "7", "tokens": ["Anna", "Neri", "."], "ner_tags": [1, 2, 0]}
FEATURES = {"ner_tags": {"feature": {"names": ["O", "B-name", "I-NAME"], "_type": "ClassLabel"}, "_type": "Sequence"}}


CARD = """---
dataset_info:
  features:
  - name: pos_tags
    sequence:
      class_label:
        names:
          '0': X
  - name: ner_tags
    sequence:
      class_label:
        names:
          '0': O
          '1': B-NAME
          '2': I-NAME
  - name: id
    dtype: string
---
# A data set
"""


NAMES_BESIDE = [
    ("README.md", CARD),
    ("x/README.md", CARD.replace("\n", "\r\n")),
    ("x/dataset_info.json", json.dumps({"features": FEATURES})),
    ("dataset_infos.json", json.dumps({"default": {"features": FEATURES}})),
    ("dataset_infos.json", json.dumps({"default": {"features": {"ner_tags": [FEATURES["ner_tags"]["feature"]]}}})),
]


@pytest.mark.parametrize(("name", "data"), NAMES_BESIDE)
def test_numbers_with_names_beside(name, data):
    assert read_one("hf", {"x/a.jsonl": json.dumps(ROW), name: data}).spans == [Span(0, 9, "NAME")]


def test_tags_as_text():
    attributes = '{"x": true, "y": "z", "n": 1}'
    full = {"name": "b", "id": "c", "text": "Anna Neri", "tokens": ["Anna", "Neri"], "ner_tags": ["B-NAME", "I-NAME"]}
    full |= {"token_starts": [0, 5], "token_ends": [4, 9]}
    rows = [
        {"name": "a", "text": "Anna (Neri)", "tokens": ["Anna", "-LRB-", "Neri", "-RRB-"], "tags": ["U-NAME", *"OOO"]},
        {"words": ["Anna", " ", "Neri"], "labels": ["B-NAME", "O", "I-NAME"]},
        {"text": "Anna", "spans": [{"start": 0, "end": 4, "label": "name", "other": 1}]},
        {"text": "Anna"},
        {"text": "Anna Neri", "tokens": ["Anna"], "ner_tags": ["O"]},
        full | {"spans": [{"start": 0, "end": 9, "label": "NAME", "attributes": attributes}]},
    ]
    notes = parsed("hf", {"a.json": json.dumps(rows), "README.md": "# A card without labels\n"})
    assert [(note.name, note.text, note.spans, [each.code for each in note.warnings]) for note in notes] == [
        ("a", "Anna (Neri)", [Span(0, 4, "NAME")], ["normalized"]),
        ("a-00002", "Anna Neri", [Span(0, 9, "NAME")], ["rebuilt", "not kept"]),
        ("a-00003", "Anna", [Span(0, 4, "NAME")], []), ("a-00004", "Anna", None, []),
        ("a-00005", "Anna Neri", [], ["short"]), ("b", "Anna Neri", [Span(0, 9, "NAME")], []),
    ]  # fmt: skip
    assert [span.attributes for span in notes[-1].spans or []] == [(("x", True), ("y", "z"))]


NUMBERS = [
    ([1, 2, 0], [Span(0, 9, "NAME")], ["rebuilt"]),
    ([-100, 1, -100], [Span(5, 9, "NAME")], ["rebuilt", "not kept"]),  # without a tag: outside
    ([0, 3, 0], None, ["tag"]),  # a class that does not exist
]


@pytest.mark.parametrize(("tags", "spans", "codes"), NUMBERS)
def test_numbers_with_names_in_the_metadata(tags, spans, codes):
    (note,) = read_all("hf", {"data/train.parquet": as_parquet([ROW | {"ner_tags": tags}], FEATURES)})
    if isinstance(note, NoteError):
        assert (spans, said(note.problems)) == (None, [(None, code) for code in codes])
    else:
        assert (note.name, note.text, note.spans) == ("data/train-00001", "Anna Neri .", spans)
        assert said(note.warnings) == [(None, code) for code in codes]


INVALID_ROWS = [
    (ROW, "names"), ({"ner_tags": ["O"]}, "row"), ({"text": 5}, "row"), ({"tokens": "Anna", "ner_tags": ["O"]}, "row"),
    ({"tokens": ["Anna"], "ner_tags": ["O", "O"]}, "row"), ({"tokens": ["Anna"], "ner_tags": [{}]}, "row"),
    ({"tokens": ["Anna"], "ner_tags": ["NAME"]}, "tag"), ({"tokens": ["Anna"], "ner_tags": ["B-PERSON"]}, "label"),
    ({"text": "Neri", "tokens": ["Anna"], "ner_tags": ["O"]}, "quote"),
    ({"text": "Anna", "spans": [{"start": "x", "end": [], "label": None}]}, "label"),
    ({"name": "../a", "text": "Anna"}, "name"), (5, "record"), ("x", "record"),
]  # fmt: skip


@pytest.mark.parametrize(("row", "code"), INVALID_ROWS)
def test_rows_that_are_refused(row, code):
    problems = refused("hf", {"a.jsonl": json.dumps(row)})
    assert said(problems[:1]) == [(1, code)] and not re.search("Anna|Neri", str(problems[0]))


def test_one_broken_row_loses_no_other():
    rows = '{"name": "a", "text": "A"}\n{"name": \n{"name": "c", "text": "C"}\n{"name": "c", "text": "D"}\n'
    assert outcomes("hf", {"a.jsonl": rows}) == ["a", [(2, "record")], "c", [(4, "same name")]]


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_damaged_files(ending):
    assert said(refused("hf", {f"a.{ending}": b"PAR1 no"})) == [(None, "file")]
    data = written(*(OutNote(f"n{at}", "Anna Neri", [Span(0, 4, "NAME")]) for at in range(3)))
    for size in range(1, len(data), 97):
        *_, last = read_all("hf", {f"a.{ending}": data[:size]})
        assert isinstance(last, NoteError)


def test_grouping():
    groups, problems = HF.group(["x/data/train.parquet", "x/README.md", "x/state.json", "b.txt"])
    assert [(group.name, group.bundle) for group in groups] == [("x/data/train", ("x/data/train.parquet",))]
    assert groups[0].parts["README.md"] == "x/README.md"
    assert [(problem.file, problem.code) for problem in problems] == [("b.txt", "unknown file")]


@pytest.mark.nightly
def test_many_notes_are_written_and_read_at_flat_memory(tmp_path):
    path = tmp_path / "train.parquet"
    before = pyarrow.total_allocated_bytes()
    with path.open("wb") as out, HF.sink(out, NAMES) as add:
        for at in range(1500):
            add(OutNote(f"n{at}", "Dr. Anna Neri came to Roma. " * 40, [Span(4, 13, "NAME")]))
    assert parquet.ParquetFile(path).num_row_groups == 2
    peaks = [
        pyarrow.total_allocated_bytes() - before
        for _ in HF.read_many(NoteFiles("train", {}, ("train.parquet",)), OnDisk(path), NAMES)
    ]
    assert (len(peaks), max(peaks) < 40_000_000) == (1500, True)
