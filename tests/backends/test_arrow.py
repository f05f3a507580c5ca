"""Reading record batches: the answer of a batch, budgets, errors of single texts, thresholds."""

import pickle

import pyarrow
import pyarrow.parquet
import pytest

from models_runtime.backends import BackendError
from models_runtime.backends.arrow import HOPELESS, NO_TEXT, NOT_UTF8, ROWS, SCHEMA, SPARK_SCHEMA, BatchReader
from models_runtime.backends.crf.training import learn
from models_runtime.backends.learner import TrainingTask
from models_runtime.backends.rules import RulesBackend
from tests.backends.breaking import Breaks
from tests.backends.made import made_notes
from tests.worlds.engines import ENGINES, rows_of

TEXTS = ["Dr. Julián Otero Paz, tel. 923 555 100.", "", "Sin datos. 😀 Dr. Otero Paz.", "a" * 5000]
RULES = BatchReader("models_runtime.backends.rules.RulesBackend", {"label_set": "i2b2-2014"})


BREAKS = BatchReader("tests.backends.breaking.Breaks", {}, "note", "content", {"ALL": "EVERYTHING"})


def batch(texts, **names):
    names = {"id": "id", "text": "text"} | names
    rows = {names["id"]: pyarrow.array(range(len(texts))), names["text"]: pyarrow.array(texts, pyarrow.string())}
    return pyarrow.RecordBatch.from_pydict(rows)


def spans(rows):
    return [[(one["start"], one["end"], one["label"], one["confidence"]) for one in row] for row in rows]


def test_the_spans_are_those_of_the_backend():
    answer = RULES(batch(TEXTS))
    assert answer.schema == SCHEMA and answer.column("id").to_pylist() == ["0", "1", "2", "3"]
    right = RulesBackend(label_set="i2b2-2014").predict(TEXTS)
    assert spans(answer.column("spans").to_pylist()) == [
        [(span.start, span.end, span.label, span.confidence) for span in found] for found in right
    ]
    assert any(right) and answer.column("error").null_count == 4
    assert pickle.loads(pickle.dumps(RULES))(batch(TEXTS)) == answer


def test_one_text_that_fails_does_not_lose_the_others():
    Breaks.sizes.clear()
    texts = ["one", "an error", "two", None, "a bug about Anna", "x" * 100, "y" * 190, "z"]
    answer = BREAKS(batch(texts, id="note", text="content"))
    assert answer.column("error").to_pylist() == [
        None, "The server did not answer.", None, NO_TEXT, "The backend failed (ValueError).", None, None, None
    ]  # fmt: skip
    found = answer.column("spans").to_pylist()
    assert [row and spans([row])[0] for row in found] == [
        [(0, 3, "EVERYTHING", 0.5)], None, [(0, 3, "EVERYTHING", 0.5)], None, None,
        [(0, 100, "EVERYTHING", 0.5)], [(0, 190, "EVERYTHING", 0.5)], [(0, 1, "EVERYTHING", 0.5)],
    ]  # fmt: skip
    # Three notes, then one by one; two notes of 31 tokens, then one by one; a note of 48 tokens and a short one.
    assert Breaks.sizes == [3, 1, 1, 1, 2, 1, 1, 2]


@pytest.mark.parametrize(
    ("codes", "labels"),
    [
        ({}, ["ALL", "WHOLE"]),
        ({"ALL": "ALL", "WHOLE": "ALL"}, ["ALL"]),  # one label by now
        ({"WHOLE": "WHOLE"}, ["WHOLE"]),
        ({"CITY": "CITY"}, []),  # without any of the labels, no span is left
    ],
)
def test_labels_that_were_merged_or_deleted(codes, labels):
    reader = BatchReader("tests.backends.breaking.Breaks", {}, codes=codes)
    (found,) = reader(batch(["one"])).column("spans").to_pylist()
    assert [span["label"] for span in found] == labels


def test_a_permanent_error_and_a_backend_that_fails_for_every_text_end_the_reading():
    with pytest.raises(BackendError, match="The weights are gone") as found:
        BREAKS(batch(["one", "the end"], id="note", text="content"))
    assert pickle.loads(pickle.dumps(found.value)).permanent
    reader = BatchReader("tests.backends.breaking.Many", {})
    few = reader(batch(["bug"] * (HOPELESS - 1)))
    assert few.column("error").to_pylist() == ["The backend failed (ValueError)."] * (HOPELESS - 1)
    with pytest.raises(BackendError, match=f"None of {HOPELESS} texts in a row could be read"):
        reader(batch(["bug"] * HOPELESS))


@pytest.mark.parametrize("kind", [pyarrow.string(), pyarrow.large_string(), pyarrow.string_view()])
def test_texts_that_are_not_utf_8(kind):
    """Writers of Parquet files don't check what they write."""
    data = pyarrow.array([b"Jos\xe9", b"Dr. Otero Paz", None], pyarrow.binary())
    texts = data.view(pyarrow.string()).cast(kind) if kind == pyarrow.string() else data.cast(kind, safe=False)
    answer = RULES(pyarrow.RecordBatch.from_pydict({"id": ["a", "b", "c"], "text": texts}))
    assert answer.column("error").to_pylist() == [NOT_UTF8, None, NO_TEXT]


def test_large_batches_are_answered_in_parts():
    whole = batch(["Visto el 12/03/2021."] * (ROWS + 1))
    assert [part.num_rows for part in RULES.batches([whole, batch([]), batch(["x"])])] == [ROWS, 1, 1]
    table = RULES.table(pyarrow.Table.from_batches([whole]))
    assert (table.num_rows, table.schema) == (ROWS + 1, SCHEMA)
    assert RULES.table(pyarrow.Table.from_batches([], whole.schema)).num_rows == 0
    coded = {name: pyarrow.array(["Dr. Otero Paz"] * 2).dictionary_encode() for name in ("id", "text")}
    answer = RULES(pyarrow.RecordBatch.from_pydict(coded))
    assert answer.column("id").to_pylist() == ["Dr. Otero Paz"] * 2 and answer.column("error").null_count == 2


def test_a_threshold(tmp_path):
    learn(TrainingTask(made_notes(6), "meddocan", iterations=5), tmp_path / "model.zip")
    factory, params = "models_runtime.backends.crf.CrfBackend", {"path": str(tmp_path / "model.zip")}
    texts = batch([text for text, _ in made_notes(2)])
    plain, low = (
        spans(BatchReader(factory, params, threshold=threshold)(texts).column("spans").to_pylist())
        for threshold in (None, 0.01)
    )
    assert set(plain[0]) <= set(low[0]) and plain != low
    with pytest.raises(BackendError, match="no probabilities"):
        BatchReader(RULES.factory, RULES.params, threshold=0.01)(texts)
    with pytest.raises(BackendError, match=r"The model “nothing\.zip” doesn't exist"):
        BatchReader(factory, {"path": "/nothing.zip"})(texts)


@pytest.mark.nightly
@pytest.mark.parametrize("engine", ENGINES)
def test_spark_and_ray_give_the_same_answers(tmp_path, monkeypatch, engine):
    table = pyarrow.Table.from_batches([batch(TEXTS * 100)])
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    rows = rows_of(engine, tmp_path, RULES, SPARK_SCHEMA, monkeypatch)
    assert sorted(rows, key=repr) == sorted(RULES.table(table).to_pylist(), key=repr)
