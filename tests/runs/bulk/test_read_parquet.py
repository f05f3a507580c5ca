"""The command that reads Parquet files: the answer, resuming, killed processes, and what is refused."""

import multiprocessing
import os

import pyarrow
import pytest
from django.core.management import CommandError
from pyarrow import parquet

from annotations.models import Event
from models_runtime.backends import load
from models_runtime.backends.arrow import NO_TEXT
from models_runtime.runs.services import bulk_pool
from models_runtime.runs.services import bulk_reading as reading
from models_runtime.runs.services.bulk_pool import ABOUT, LOCK, open_folder
from tests import factories as make
from tests.runs.bulk.killing import KILLS, parts
from tests.runs.conftest import command

pytestmark = pytest.mark.django_db
TEXT = "Dr. Julián Otero Paz, tel. 923 555 100. Visto el 12/03/2021."


@pytest.fixture
def project(db):
    project = make.make_project("ward")
    make.change(project.label_set, key="i2b2-2014")
    return project


@pytest.fixture
def notes(tmp_path):
    """A folder with two files: 25 and 5 notes."""
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, first, last in (("a", 0, 25), ("b", 25, 30)):
        rows = {"id": [f"n{number}" for number in range(first, last)], "text": [TEXT] * (last - first)}
        parquet.write_table(pyarrow.table(rows), folder / f"{name}.parquet")
    return folder


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(reading, "ROWS", 10)


@pytest.fixture(autouse=True)
def forked(request, monkeypatch):
    """Fork the processes from this one, which has read the lists of the rules; not for tests marked `processes`."""
    if not request.node.get_closest_marker("processes"):
        for label_set in ("i2b2-2014", "meddocan"):
            load("models_runtime.backends.rules.RulesBackend", label_set=label_set).predict([TEXT])
        context = multiprocessing.get_context("fork")
        monkeypatch.setattr(multiprocessing, "get_context", lambda method: context)


def answers(folder):
    return parquet.read_table(folder).to_pylist()


@pytest.mark.processes
def test_every_note_is_read_once_and_no_text_is_written(project, notes, tmp_path):
    boss, out = make.make_member(project, "manager", "boss"), tmp_path / "out"
    said = command("read_parquet", "ward", "rules", notes, out, "--by", "boss")
    rows = answers(out)
    assert [row["id"] for row in rows] == [f"n{number}" for number in range(30)]
    assert (said["notes"], said["unread"], said["earlier"], said["target"]) == (30, 0, 0, str(out))
    # A telephone number is found too, but the project has no label for it.
    assert said["spans"] == sum(len(row["spans"]) for row in rows) == 60
    assert {TEXT[one["start"] : one["end"]] for one in rows[0]["spans"]} >= {"Julián Otero Paz", "12/03/2021"}
    assert sorted(path.name for path in out.glob("part-*")) == [f"part-{number:07}.parquet" for number in range(4)]
    assert all(b"Otero" not in path.read_bytes() for path in out.iterdir())
    event = Event.objects.get(verb="model.files_read")
    assert (event.data, event.actor) == ({"backend": "rules", "notes": 30}, boss)


def test_a_reading_goes_on_where_it_stopped(project, notes, tmp_path):
    out = tmp_path / "out"
    command("read_parquet", "ward", "rules", notes, out)
    whole, first = answers(out), out / "part-0000000.parquet"
    (out / "part-0000001.parquet").unlink()
    (out / "part-0000002.parquet").write_bytes(b"half")
    (out / "_part-1-part-0000003.parquet").write_bytes(b"of a killed process")
    kept = first.stat().st_mtime_ns
    said = command("read_parquet", "ward", "rules", notes, out, "--processes", 1)
    assert (said["notes"], said["earlier"]) == (30, 15) and answers(out) == whole and first.stat().st_mtime_ns == kept
    assert {path.name for path in out.glob("_*")} == {ABOUT, LOCK}
    # Notes that may be readable by now are read again.
    failed = pyarrow.array(["The GPU memory is full."] + [None] * 9, pyarrow.string())
    parquet.write_table(parquet.read_table(first).set_column(2, "error", failed), first)
    assert command("read_parquet", "ward", "rules", notes, out)["earlier"] == 20 and answers(out) == whole


def test_a_note_that_can_t_be_read_has_a_reason(project, tmp_path):
    source, target = str(tmp_path / "notes.parquet"), str(tmp_path / "out")
    parquet.write_table(pyarrow.table({"id": [1, 2], "text": [TEXT, None]}), source)
    found = [command("read_parquet", "ward", "rules", source, target) for _once in range(2)]
    assert [(said["unread"], said["earlier"]) for said in found] == [(1, 0), (1, 2)]
    assert [(row["id"], row["error"]) for row in answers(target)] == [("1", None), ("2", NO_TEXT)]


def test_a_model_of_the_project(project, notes, tmp_path, monkeypatch):
    """The labels are the project's: those that were merged have their present code, others are left out."""
    monkeypatch.setattr(reading, "accepted_labels", lambda project: ({"DATE": "DAY"}, ()))
    command("read_parquet", "ward", "rules", notes / "b.parquet", tmp_path / "out")
    assert {span["label"] for row in answers(tmp_path / "out") for span in row["spans"]} == {"DAY"}


def test_a_folder_of_another_reading_is_refused(project, notes, tmp_path):
    out = tmp_path / "out"
    command("read_parquet", "ward", "rules", notes, out)
    before = answers(out)

    def is_refused(change, *words):
        with pytest.raises(CommandError, match=f"other settings: .*{change}"):
            command("read_parquet", "ward", "rules", notes, out, *words)
        assert answers(out) == before

    is_refused("columns", "--id", "text")
    changed = (notes / "a.parquet").stat().st_mtime_ns
    os.utime(notes / "a.parquet", (1, 1))
    is_refused("files")
    os.utime(notes / "a.parquet", ns=(changed, changed))
    make.change(project.label_set, key="meddocan")
    is_refused("model")


def test_what_is_refused(project, notes, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("x")
    (tmp_path / "other" / "_part-2024.csv").write_text("x")
    (tmp_path / "empty").mkdir()
    parquet.write_table(pyarrow.table({"id": ["a"], "text": [["b"]]}), tmp_path / "wrong.parquet")
    for words, reason in (
        (["nothing", notes, "out"], "There is no backend “nothing”"),
        (["rules", "none.parquet", "out"], "There is no file or folder"),
        (["rules", "empty", "out"], "has no Parquet files"),
        (["rules", "other/mine.txt", "out"], "is not a Parquet file"),
        (["rules", notes, "other"], "holds other files"),
        (["rules", notes, "other/mine.txt"], "Can't write to the folder"),
        (["known", notes, "out"], "no patient master"),
        (["rules", "wrong.parquet", "out"], r"column “text” must hold texts, not list"),
        (["rules", "wrong.parquet", "out", "--id", "text", "--text", "id"], "column “text” must hold texts or whole"),
        (["rules", notes, "out", "--text", "words"], "has no column “words”. Its columns: id, text"),
        (["rules", notes, "out", "--threshold", "1"], "must be above 0 and below 1"),
        (["rules", notes, "out", "--threshold", "0.5"], "no probabilities"),
        (["rules", notes, "out", "--processes", "0"], "must be from 1 to 256"),
    ):
        model, source, target, *more = words
        with pytest.raises(CommandError, match=reason):
            command("read_parquet", "ward", model, tmp_path / source, tmp_path / target, *more)
    assert {path.name for path in (tmp_path / "other").iterdir()} == {"mine.txt", "_part-2024.csv"}
    assert not (tmp_path / "out").exists()


def test_two_commands_don_t_write_to_one_folder(project, notes, tmp_path):
    with open_folder(tmp_path / "out", {}), pytest.raises(CommandError, match="Another command is writing"):
        command("read_parquet", "ward", "rules", notes, tmp_path / "out")


def test_a_killed_process_loses_no_part(tmp_path):
    """The first process that reads “once” is killed."""
    texts = ["a", f"once {tmp_path / 'killed'}", "b", "c"]
    found = list(bulk_pool.read_parts(KILLS, parts(tmp_path, texts), 2))
    assert [counts.notes for counts in found] == [1] * 4 and (tmp_path / "killed").exists()


def test_a_note_that_kills_every_process_gets_an_error(tmp_path):
    batch = pyarrow.RecordBatch.from_pydict({"id": ["a", "b", "c"], "text": ["a", "always", "c"]})
    (counts,) = bulk_pool.read_parts(KILLS, [bulk_pool.Part(tmp_path / "part.parquet", batch, 0)], 2)
    assert (counts.notes, counts.spans, counts.failed) == (3, 2, 1)
    rows = parquet.read_table(tmp_path / "part.parquet").to_pylist()
    assert [(row["id"], row["error"]) for row in rows] == [("a", None), ("b", bulk_pool.KILLED), ("c", None)]


def test_if_every_note_kills_its_process_the_reading_ends(tmp_path):
    batch = pyarrow.RecordBatch.from_pydict({"id": list("abcd"), "text": ["a", *["always"] * 3]})
    with pytest.raises(bulk_pool.ServiceError, match="Each of the notes 12 to 14 of the input killed the process"):
        list(bulk_pool.read_parts(KILLS, [bulk_pool.Part(tmp_path / "part.parquet", batch, 10)], 1))
    assert list(tmp_path.iterdir()) == []
