"""Hugging Face data sets, opened and written by `datasets` itself where it is installed."""

import io
import json
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from hypothesis import given
from pyarrow import parquet

from annotations.domain.bio import encode
from annotations.domain.formats import FORMATS, detected
from annotations.domain.formats.base import Loaded, NoteFiles, OutNote
from annotations.domain.formats.hf import HuggingFaceFormat
from annotations.domain.labels import CategoryDef, LabelDef, LabelSetDef
from annotations.domain.notes import NoteError, ParsedNote
from annotations.domain.spans import Span
from tests.domain.formats.helpers import NAMES, OnDisk, read_all, read_one, refused, said, write_one
from tests.domain.strategies import LABELS, texts_with_apart_spans

HF = HuggingFaceFormat()
CLASSES = ["O", *(f"{mark}-{label}" for label in LABELS for mark in "BI")]


def written(*notes: OutNote) -> bytes:
    out = io.BytesIO()
    with HF.sink(out, NAMES) as add:
        for note in notes:
            assert add(note) == []
    return out.getvalue()


def as_parquet(rows: list[dict[str, Any]], metadata: dict[str, Any] | None = None) -> bytes:
    out = io.BytesIO()
    table = pyarrow.Table.from_pylist(rows)
    given = {"huggingface": json.dumps({"info": {"features": metadata}})} if metadata else None
    parquet.write_table(table.replace_schema_metadata(given), out)
    return out.getvalue()


def test_a_label_outside_the_label_set_is_a_loss() -> None:
    files, losses = write_one("hf", "Anna 1", [Span(0, 4, "NAME"), Span(5, 6, "AGE")])
    assert [loss.span for loss in losses] == [Span(5, 6, "AGE")]
    assert read_one("hf", files).spans == [Span(0, 4, "NAME")]


def test_files_that_spans_and_tags_contradict() -> None:
    files, _ = write_one("hf", "Anna Neri", [Span(0, 4, "NAME")])
    table = parquet.read_table(io.BytesIO(files["a.parquet"]))
    changed = table.set_column(5, "ner_tags", pyarrow.array([[0, 1]]))
    out = io.BytesIO()
    parquet.write_table(changed, out)
    assert said(refused("hf", {"a.parquet": out.getvalue()})) == [(None, "tags")]
    out = io.BytesIO()
    parquet.write_table(changed.drop_columns(["spans"]), out)
    assert read_one("hf", {"a.parquet": out.getvalue()}).spans == [Span(5, 9, "NAME")]


# With `datasets`


def load(folder: Path, **settings: Any) -> Any:
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    return datasets.load_dataset(str(folder), cache_dir=str(folder.parent / "cache"), **settings)


LABEL_SET = LabelSetDef("x", "X", "", "", (), (CategoryDef("A", "A", tuple(LabelDef(c, c) for c in LABELS)),))


def test_datasets_opens_the_folder_of_an_export(tmp_path: Path) -> None:
    notes = [
        OutNote("a", "\ufeffAnna Neri\r\n😀 1", [Span(1, 5, "NAME"), Span(1, 10, "NAME"), Span(14, 15, "DATE")]),
        OutNote("sub/b", "", []),
    ]
    folder = tmp_path / "export"
    files = {HF.file: written(*notes), **HF.extra_files(LABEL_SET), "losses.csv": b'"a"\r\n', "export.json": b"{}"}
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    found = load(folder)
    assert list(found) == ["train"]
    train = found["train"]
    assert train.features["ner_tags"].feature.names == CLASSES
    assert train["name"][:] == ["a", "sub/b"]
    assert train["text"][:] == [note.text for note in notes]
    first = train[0]
    assert first["tokens"] == ["Anna", "Neri", "😀", "1"]
    assert [CLASSES[tag] for tag in first["ner_tags"]] == ["B-NAME", "I-NAME", "O", "B-DATE"]
    assert [(span["start"], span["end"], span["label"]) for span in first["spans"]] == [
        (1, 5, "NAME"),
        (1, 10, "NAME"),
        (14, 15, "DATE"),
    ]
    train.to_parquet(str(tmp_path / "again.parquet"))
    train.to_json(str(tmp_path / "again.jsonl"))
    train.save_to_disk(str(tmp_path / "disk"))
    for file in (tmp_path / "again.parquet", *(tmp_path / "disk").glob("*.arrow")):
        back = read_all("hf", {f"x/{file.name}": file.read_bytes()})
        assert [(n.name, n.text, n.spans) for n in back if isinstance(n, ParsedNote)] == [
            (n.name, n.text, n.spans) for n in notes
        ]
    beside = {"a/x.jsonl": (tmp_path / "again.jsonl").read_bytes()}
    beside["a/dataset_info.json"] = (tmp_path / "disk" / "dataset_info.json").read_bytes()
    back = read_all("hf", beside)
    assert [n.spans for n in back if isinstance(n, ParsedNote)] == [n.spans for n in notes]


@given(made=texts_with_apart_spans())
def test_what_datasets_writes_is_read(tmp_path: Path, made: tuple[str, list[Span]]) -> None:
    datasets = pytest.importorskip("datasets")
    text, spans = made
    encoded = encode(text, spans)
    tokens = [text[token.start : token.end] for token in encoded.tokens]
    features = datasets.Features(
        {
            "id": datasets.Value("string"),
            "text": datasets.Value("string"),
            "tokens": datasets.Sequence(datasets.Value("string")),
            "ner_tags": datasets.Sequence(datasets.ClassLabel(names=CLASSES)),
        }
    )
    row = {"id": ["n"], "text": [text], "tokens": [tokens], "ner_tags": [encoded.tags]}
    datasets.disable_progress_bars()
    datasets.Dataset.from_dict(row, features=features).to_parquet(str(tmp_path / "a.parquet"))
    note = read_one("hf", {"a.parquet": (tmp_path / "a.parquet").read_bytes()})
    assert (note.name, note.text, note.spans, note.warnings) == ("n", text, spans, [])


# As others write them

ROW = {"id": "7", "tokens": ["Anna", "Neri", "."], "ner_tags": [1, 2, 0]}
FEATURES = {"ner_tags": {"feature": {"names": ["O", "B-name", "I-NAME"], "_type": "ClassLabel"}, "_type": "Sequence"}}


def test_numbers_with_names_in_the_metadata() -> None:
    note = read_one("hf", {"data/train.parquet": as_parquet([ROW], FEATURES)})
    assert (note.name, note.text, note.spans) == ("data/train-00001", "Anna Neri .", [Span(0, 9, "NAME")])
    assert said(note.warnings) == [(None, "rebuilt")]


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


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("README.md", CARD),
        ("x/README.md", CARD.replace("\n", "\r\n")),
        ("x/dataset_info.json", json.dumps({"features": FEATURES})),
        ("dataset_infos.json", json.dumps({"default": {"features": FEATURES}})),
        ("dataset_infos.json", json.dumps({"default": {"features": {"ner_tags": [FEATURES["ner_tags"]["feature"]]}}})),
    ],
)
def test_numbers_with_names_beside(name: str, data: str) -> None:
    note = read_one("hf", {"x/a.jsonl": json.dumps(ROW), name: data})
    assert note.spans == [Span(0, 9, "NAME")]


def test_tags_as_text() -> None:
    rows = [
        {"name": "a", "text": "Anna (Neri)", "tokens": ["Anna", "-LRB-", "Neri", "-RRB-"], "tags": ["U-NAME", *"OOO"]},
        {"words": ["Anna", " ", "Neri"], "labels": ["B-NAME", "O", "I-NAME"]},
        {"text": "Anna", "spans": [{"start": 0, "end": 4, "label": "name", "other": 1}]},
        {"text": "Anna"},
        {"text": "Anna Neri", "tokens": ["Anna"], "ner_tags": ["O"]},
    ]
    notes = read_all("hf", {"a.json": json.dumps(rows)})
    assert all(isinstance(note, ParsedNote) for note in notes)
    assert [(n.name, n.text, n.spans) for n in notes if isinstance(n, ParsedNote)] == [
        ("a", "Anna (Neri)", [Span(0, 4, "NAME")]),
        ("a-00002", "Anna Neri", [Span(0, 9, "NAME")]),
        ("a-00003", "Anna", [Span(0, 4, "NAME")]),
        ("a-00004", "Anna", None),
        ("a-00005", "Anna Neri", []),
    ]
    codes = [[problem.code for problem in note.warnings] for note in notes if isinstance(note, ParsedNote)]
    assert codes == [["normalized"], ["rebuilt", "not kept"], [], [], ["short"]]


def test_tokens_without_a_tag_count_as_outside() -> None:
    row = ROW | {"ner_tags": [-100, 1, -100]}
    note = read_one("hf", {"a.parquet": as_parquet([row], FEATURES)})
    assert (note.spans, said(note.warnings)) == ([Span(5, 9, "NAME")], [(None, "rebuilt"), (None, "not kept")])


@pytest.mark.parametrize(
    ("row", "code"),
    [
        (ROW, "names"),
        ({"ner_tags": ["O"]}, "row"),
        ({"text": 5}, "row"),
        ({"tokens": "Anna", "ner_tags": ["O"]}, "row"),
        ({"tokens": ["Anna"], "ner_tags": ["O", "O"]}, "row"),
        ({"tokens": ["Anna"], "ner_tags": [{}]}, "row"),
        ({"tokens": ["Anna"], "ner_tags": ["NAME"]}, "tag"),
        ({"tokens": ["Anna"], "ner_tags": ["B-PERSON"]}, "label"),
        ({"text": "Neri", "tokens": ["Anna"], "ner_tags": ["O"]}, "quote"),
        ({"text": "Anna", "spans": [{"start": 0, "end": 9, "label": "NAME"}]}, "outside"),
        ({"text": "Anna", "spans": [{"start": "x", "end": [], "label": None}]}, "label"),
        ({"name": "../a", "text": "Anna"}, "name"),
        (5, "record"),
        ("x", "record"),
    ],
)
def test_rows_that_are_refused(row: Any, code: str) -> None:
    problems = refused("hf", {"a.jsonl": json.dumps(row)})
    assert problems[0].code == code
    assert problems[0].line == 1
    assert "Anna" not in str(problems[0])
    assert "Neri" not in str(problems[0])


def test_one_broken_row_loses_no_other() -> None:
    rows = '{"name": "a", "text": "A"}\n{"name": \n{"name": "c", "text": "C"}\n{"name": "c", "text": "D"}\n'
    first, second, third, fourth = read_all("hf", {"a.jsonl": rows})
    assert isinstance(first, ParsedNote)
    assert isinstance(second, NoteError)
    assert said(second.problems) == [(2, "record")]
    assert isinstance(third, ParsedNote)
    assert isinstance(fourth, NoteError)
    assert said(fourth.problems) == [(4, "same name")]


def test_a_class_label_that_does_not_exist() -> None:
    row = ROW | {"ner_tags": [0, 3, 0]}
    assert said(refused("hf", {"a.parquet": as_parquet([row], FEATURES)})) == [(None, "tag")]


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_damaged_files(ending: str) -> None:
    assert said(refused("hf", {f"a.{ending}": b"PAR1 no"})) == [(None, "file")]
    data = written(*(OutNote(f"n{at}", "Anna Neri", [Span(0, 4, "NAME")]) for at in range(3)))
    for size in range(1, len(data), 97):
        *_, last = read_all("hf", {f"a.{ending}": data[:size]})
        assert isinstance(last, NoteError)


def test_grouping_and_detection() -> None:
    files = {
        "x/data/train.parquet": written(OutNote("a", "Anna", [Span(0, 4, "NAME")])),
        "x/README.md": b"",
        "x/state.json": b"{}",
        "b.txt": b"text",
    }
    groups, problems = HF.group(files)
    assert [(group.name, group.bundle) for group in groups] == [("x/data/train", ("x/data/train.parquet",))]
    assert groups[0].parts["README.md"] == "x/README.md"
    assert [(problem.file, problem.code) for problem in problems] == [("b.txt", "unknown file")]
    assert detected(files, Loaded(files.__getitem__)) == "hf"
    assert list(HF.used_labels(groups[0], Loaded(files.__getitem__))) == [{"NAME": 1}]


@pytest.mark.parametrize(
    ("name", "head", "claimed"),
    [
        ("a.jsonl", b'{"tokens": ["A"], "ner_tags": [0]}', True),
        ("a.json", b'[{"words": ["A"], "labels": ["O"]}]', True),
        ("a.jsonl", b'{"text": "A", "tokens": [{"text": "A"}], "spans": []}', False),
        ("a.jsonl", b'{"text": "A", "labels": [[0, 1, "X"]]}', False),
        ("a.parquet", b"PAR1", True),
        ("a.arrow", b"\xff\xff\xff\xff", True),
        ("a.txt", b"PAR1", False),
    ],
)
def test_claims(name: str, head: bytes, claimed: bool) -> None:
    assert HF.claims(name, head) is claimed


def test_many_notes_are_written_and_read_at_flat_memory(tmp_path: Path) -> None:
    text = "Dr. Anna Neri came to Roma. " * 40
    path = tmp_path / "train.parquet"
    before = pyarrow.total_allocated_bytes()
    with path.open("wb") as out, HF.sink(out, NAMES) as add:
        for at in range(1500):
            add(OutNote(f"n{at}", text, [Span(4, 13, "NAME")]))

    assert parquet.ParquetFile(path).num_row_groups == 2
    peak = 0
    count = 0
    for _ in FORMATS["hf"].read_many(NoteFiles("train", {}, ("train.parquet",)), OnDisk(path), NAMES):
        count += 1
        peak = max(peak, pyarrow.total_allocated_bytes() - before)
    assert count == 1500
    assert peak < 40_000_000


FULL = {
    "name": "a",
    "id": "b",
    "text": "Anna Neri",
    "tokens": ["Anna", "Neri"],
    "token_starts": [0, 5],
    "token_ends": [4, 9],
    "ner_tags": ["B-NAME", "I-NAME"],
    "spans": [{"start": 0, "end": 9, "label": "NAME", "attributes": '{"x": true, "y": "z", "n": 1}'}],
}


def test_a_full_row() -> None:
    (span,) = read_one("hf", {"a.jsonl": json.dumps(FULL)}).spans or []
    assert (span, span.attributes) == (Span(0, 9, "NAME"), (("x", True), ("y", "z")))


def test_datasets_makes_a_split_of_each_folder(tmp_path: Path) -> None:
    folder = tmp_path / "export"
    names = {"train/": ["a", "b"], "dev/": ["c"], "test/": ["d"]}
    files = {
        HF.path(split): written(*(OutNote(name, "Anna", [Span(0, 4, "NAME")]) for name in notes))
        for split, notes in names.items()
    }
    for name, data in {**files, **HF.extra_files(LABEL_SET), "losses.csv": b'"a"\r\n', "export.json": b"{}"}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    loaded = load(folder)
    assert {split: rows["name"][:] for split, rows in loaded.items()} == {
        split.removesuffix("/"): notes for split, notes in names.items()
    }
