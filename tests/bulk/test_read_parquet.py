"""The command that reads Parquet files: the answer, resuming, killed processes, and what is refused."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow
import pytest
from django.core.management import CommandError, call_command
from pyarrow import parquet

from annotations.models import Event
from models_runtime.bulk.services import pool, reading
from models_runtime.bulk.services.parts import ABOUT, LOCK, opened
from tests import factories as make
from tests.bulk.killing import KILLS, parts

pytestmark = [pytest.mark.django_db, pytest.mark.once]
TEXT = "Dr. Julián Otero Paz, tel. 923 555 100. Visto el 12/03/2021."


@pytest.fixture
def project(db):
    project = make.make_project("ward")
    project.label_set.key = "i2b2-2014"
    project.label_set.save()
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


def command(*words, **options):
    out = io.StringIO()
    call_command("read_parquet", *map(str, words), "--json", stdout=out, **options)
    return json.loads(out.getvalue())


def answers(folder):
    return parquet.read_table(folder).to_pylist()


def test_every_note_is_read_once_and_no_text_is_written(project, notes, tmp_path):
    boss = make.make_member(project, "manager", "boss")
    out = tmp_path / "out"
    said = command("ward", "rules", notes, out, "--by", "boss")
    rows = answers(out)
    assert [row["id"] for row in rows] == [f"n{number}" for number in range(30)]
    assert (said["notes"], said["failed"], said["earlier"], said["target"]) == (30, 0, 0, str(out))
    assert said["spans"] == sum(len(row["spans"]) for row in rows) > 60
    assert {TEXT[one["start"] : one["end"]] for one in rows[0]["spans"]} >= {"Julián Otero Paz", "12/03/2021"}
    assert sorted(path.name for path in out.glob("part-*")) == [f"part-{number:07}.parquet" for number in range(4)]
    assert all(b"Otero" not in path.read_bytes() for path in out.iterdir())
    event = Event.objects.get(verb="model.files_read")
    assert (event.data, event.actor) == ({"backend": "rules", "notes": 30}, boss)


def test_a_reading_goes_on_where_it_stopped(project, notes, tmp_path):
    out = tmp_path / "out"
    command("ward", "rules", notes, out)
    whole = answers(out)
    (out / "part-0000001.parquet").unlink()
    (out / "part-0000002.parquet").write_bytes(b"half")
    (out / "_part-1-part-0000003.parquet").write_bytes(b"of a killed process")
    kept = (out / "part-0000000.parquet").stat().st_mtime_ns
    said = command("ward", "rules", notes, out, "--processes", 1)
    assert (said["notes"], said["earlier"]) == (30, 15)
    assert answers(out) == whole
    assert (out / "part-0000000.parquet").stat().st_mtime_ns == kept
    assert {path.name for path in out.glob("_*")} == {ABOUT, LOCK}
    out_text = io.StringIO()
    call_command("read_parquet", "ward", "rules", str(notes), str(out), stdout=out_text)
    assert "An earlier command had read 30 of these notes." in out_text.getvalue()


@pytest.mark.parametrize("change", ["columns", "files", "model"])
def test_a_folder_of_another_reading_is_refused(project, notes, tmp_path, change):
    out, words = tmp_path / "out", []
    command("ward", "rules", notes, out)
    before = answers(out)
    if change == "files":
        os.utime(notes / "a.parquet", (1, 1))
    elif change == "columns":
        words = ["--id", "text"]
    else:
        project.label_set.key = "meddocan"
        project.label_set.save()
    with pytest.raises(CommandError, match="answers of another reading"):
        command("ward", "rules", notes, out, *words)
    assert answers(out) == before


def test_what_is_refused(project, notes, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("x")
    (tmp_path / "empty").mkdir()
    for words, reason in (
        (["nothing", notes, "out"], "There is no backend “nothing”"),
        (["rules", "none.parquet", "out"], "There is no file or folder"),
        (["rules", "empty", "out"], "has no files"),
        (["rules", "other/mine.txt", "out"], "is not a Parquet file"),
        (["rules", notes, "other"], "holds other files"),
        (["rules", notes, "other/mine.txt"], "can't be made"),
        (["rules", notes, "out", "--text", "words"], "has no column “words”. Its columns: id, text"),
        (["rules", notes, "out", "--threshold", "1"], "must be above 0 and below 1"),
        (["rules", notes, "out", "--threshold", "0.5"], "no probabilities"),
        (["rules", notes, "out", "--processes", "0"], "must be from 1 to 256"),
    ):
        model, source, target, *more = words
        with pytest.raises(CommandError, match=reason):
            command("ward", model, tmp_path / source, tmp_path / target, *more)
    assert (tmp_path / "other" / "mine.txt").read_text() == "x" and not (tmp_path / "out").exists()


def test_two_commands_don_t_write_to_one_folder(project, notes, tmp_path):
    with opened(tmp_path / "out", {}), pytest.raises(CommandError, match="Another command is writing"):
        command("ward", "rules", notes, tmp_path / "out")


def test_a_killed_process_loses_no_part(tmp_path):
    """The first process that reads “once” is killed; a part that kills every process is named, the others are kept."""
    texts = ["a", f"once {tmp_path / 'killed'}", "b", "c"]
    found = list(pool.read_parts(KILLS, parts(tmp_path, texts), 2))
    assert [counts.notes for counts in found] == [1] * 4
    assert (tmp_path / "killed").exists()
    bad = tmp_path / "bad"
    bad.mkdir()
    with pytest.raises(pool.ServiceError, match=r"The process that read 1\.parquet was killed 3 times"):
        list(pool.read_parts(KILLS, parts(bad, ["a", "always", "b", "c"]), 2))
    assert not (bad / "1.parquet").exists()


@pytest.mark.processes
def test_the_processes_end_with_the_command(tmp_path):
    program = f"""
from pathlib import Path
from models_runtime.bulk.services import pool
from tests.bulk.killing import KILLS, parts
if __name__ == "__main__":
    list(pool.read_parts(KILLS, parts(Path({str(tmp_path)!r}), ["sleep {tmp_path}"] * 4), 2))
"""
    file = tmp_path / "program.py"
    file.write_text(program)
    environment = os.environ | {"PYTHONPATH": str(Path.cwd())}
    process = subprocess.Popen([sys.executable, str(file)], env=environment)
    try:
        until = time.monotonic() + 60
        while len(list(tmp_path.glob("sleeping-*"))) < 2:
            assert time.monotonic() < until and process.poll() is None
            time.sleep(0.05)
        children = [int(path.name.removeprefix("sleeping-")) for path in tmp_path.glob("sleeping-*")]
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    while any(Path(f"/proc/{pid}").exists() and "Z" not in _state(pid) for pid in children):
        assert time.monotonic() < until
        time.sleep(0.05)


def _state(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"
