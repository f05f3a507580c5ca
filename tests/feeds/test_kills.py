"""A process that works on a feed is killed at each step. The next one goes on: nothing lost, nothing twice."""

import importlib
import json
import os
import signal
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import wraps
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from django.db import connections
from django.test import override_settings

from annotations.models import Certificate, Document, Import, Job, JobState, Record, Release, ReleasedNote
from annotations.ops.services.erasing import erase_patient
from models_runtime.feeds.rules import folders
from models_runtime.models import FeedFile, FeedNote, RunItem, Tombstone
from tests.feeds.feed_world import LETTERS, FeedWorld, made_project, on, states
from tests.records.world import FLAT, VISIT, active
from tests.worlds.queue import end_lease

pytestmark = [pytest.mark.queue, pytest.mark.processes, pytest.mark.django_db(transaction=True)]
DAY = date(2026, 3, 2)
S, R = "models_runtime.feeds.services", "annotations.release.services"
BEFORE, AFTER = False, True
# Where a process dies, in the order of the work: before or after the call.
TAKING = [
    (f"{S}.taking", "Intake._import", BEFORE),  # the file has a row
    (f"{S}.taking", "run_import", BEFORE),  # … and an import
    (f"{S}.taking", "Intake._imported", AFTER),  # the last transaction of the import is not committed
    (f"{S}.taking", "run_import", AFTER),  # the import is committed, the file lies there still
    ("models_runtime.feeds.rules.folders", "Entry.remove", AFTER),
    (f"{S}.taking", "Intake._put_aside", AFTER),  # the broken file has a reason
    ("models_runtime.feeds.rules.folders", "Entry.move", BEFORE),  # … which lies in quarantine already
    ("models_runtime.feeds.rules.folders", "Entry.move", AFTER),
    (f"{S}.releasing", "started", AFTER),  # the run is not committed
    ("models_runtime.feeds.jobs", "read", AFTER),  # the run waits for a worker
    ("models_runtime.runs.jobs", "_write", AFTER),  # suggestions are not committed
    (f"{S}.releasing", "_move", AFTER),
]
RELEASING = [
    (f"{S}.releasing", "_move", AFTER),
    (f"{R}.standing", "start_part", AFTER),  # the part is not committed
    ("models_runtime.feeds.jobs", "release_ready", AFTER),
    (f"{R}.batches", "store_prepared", AFTER),  # the gate's findings are not committed
    (f"{S}.delivering", "_write", BEFORE),  # rows say where the files will lie
    ("models_runtime.feeds.rules.folders", "write", AFTER),  # one file lies there
    (f"{S}.delivering", "_write", AFTER),
]
CLOSING = [
    (f"{R}.standing", "take_out", AFTER),
    (f"{R}.standing", "certify", AFTER),  # signed, and no certificate lies there
    ("models_runtime.feeds.rules.folders", "write", AFTER),
    (f"{R}.standing", "publish_part", AFTER),  # all lies there, and the part is not closed
]
WITHDRAWING = [
    ("models_runtime.feeds.rules.folders", "remove", AFTER),  # the file is gone, and not listed
    ("models_runtime.feeds.rules.folders", "write", AFTER),  # … and listed
    ("models_runtime.feeds.jobs", "publish_due", BEFORE),
]
RECORDS = [
    (f"{S}.taking", "Intake._make_record_notes", AFTER),  # stored, and the feed's rows are not committed
    ("models_runtime.feeds.jobs", "release_ready", AFTER),
    (f"{S}.delivering", "_records", AFTER),
    (f"{S}.delivering", "store", AFTER),  # the note lies there, its record does not
]


@pytest.fixture
def world(transactional_db: None, no_redis, tmp_path: Path) -> Iterator[FeedWorld]:
    with override_settings(FEED_ROOT=str(tmp_path)), patch.object(folders, "SETTLED", -1.0):
        yield FeedWorld(tmp_path, made_project())


def _dying(original: Callable[..., Any], after: bool) -> Callable[..., Any]:
    @wraps(original)
    def dying(*arguments: Any, **options: Any) -> Any:
        if after:
            original(*arguments, **options)
        os.kill(os.getpid(), signal.SIGKILL)

    return dying


def killed(world: FeedWorld, module: str, name: str, after: bool) -> None:
    """Work on the feed in another process, which kills itself at this point."""
    connections.close_all()
    child = os.fork()
    if child == 0:
        try:
            target: Any = importlib.import_module(module)
            *inside, last = name.split(".")
            for part in inside:
                target = getattr(target, part)
            setattr(target, last, _dying(getattr(target, last), after))
            world.run()
        finally:
            os._exit(1)
    _pid, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, f"{module}.{name} was not reached"
    for job in Job.objects.filter(state=JobState.RUNNING):
        end_lease(job)
    # A job is ended after five kills in a row; the relay then starts it again.
    Job.objects.update(attempt=0)


def test_kills_at_each_step_lose_nothing_and_do_nothing_twice(world: FeedWorld):
    feed = world.add()
    world.put("patients.csv", "name,patient_id\na,P-1\n")
    world.put_letters()
    world.put("z-broken.pdf", b"%PDF-1.4 nothing of a PDF")
    with on(DAY):
        for point in TAKING:
            killed(world, *point)
        world.run()
        assert states(feed) == {"read": 3}
        assert sorted(Document.objects.values_list("text", flat=True)) == sorted(LETTERS.values())
        assert (FeedFile.objects.count(), FeedNote.objects.count(), RunItem.objects.count()) == (4, 3, 3)
        assert Import.objects.filter(state="done").count() == 3 and not Import.objects.filter(state="running").exists()
        assert [name.rpartition("/")[0] for name in world.incoming()] == ["", "quarantine", "quarantine"]
        world.review()
        for point in RELEASING:
            killed(world, *point)
        world.run()
        assert states(feed) == {"released": 3}
        assert (Release.objects.count(), ReleasedNote.objects.count(), len(world.delivered())) == (1, 3, 3)
    with on(DAY + timedelta(days=1)):
        for point in CLOSING:
            killed(world, *point)
        world.run()
        assert world.verified("2026-03-02") and Certificate.objects.count() == 1
        with patch("models_runtime.feeds.services.delivering.clear_soon"):  # a web process that sees no folders
            erase_patient(project=world.project, patient_id="P-1", actor=world.mia)
        for point in WITHDRAWING:
            killed(world, *point)
        world.run()
    assert Tombstone.objects.count() == len(world.tombstones()) == 1 and len(world.delivered()) == 2
    assert world.verified("2026-03-02") and Certificate.objects.count() == 2
    assert [path.name for path in world.root.rglob("*") if path.name.endswith(".part")] == []


def test_kills_lose_no_record_and_deliver_none_twice(world: FeedWorld):
    feed = world.add()
    active(world.project, FLAT)
    world.put("visits.ndjson", "".join(json.dumps(VISIT | {"dataType": "visit", "weight": w}) + "\n" for w in (60, 61)))
    with on(DAY):
        for point in RECORDS:
            killed(world, *point)
        world.run()
    assert states(feed) == {"released": 2} and world.incoming() == []
    assert (Record.objects.count(), Release.objects.count(), ReleasedNote.objects.count()) == (2, 1, 2)
    assert len(list(world.target.glob("2026-03-02-records-json/note-*.json"))) == len(world.delivered()) == 2
