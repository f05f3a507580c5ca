"""Writers queue for a lock beside the database instead of polling (SQLite only)."""

import gc
import os
import select
import subprocess
import sys
import textwrap
import threading
import time

import pytest
from django.db import IntegrityError, OperationalError, connection, connections, transaction

from annotations.models import Project
from tests.factories import make_project, reread
from tests.waiting import HANGS, MOMENT, crowding, ended

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL has a queue of its own"),
]


def in_thread(work):
    """Run `work` in a thread with its own connection. Return the thread and a list of its exceptions."""
    raised = []

    def run():
        try:
            work()
        except BaseException as error:
            raised.append(error)
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    return thread, raised


def is_free():
    """Whether another thread can write."""
    thread, raised = in_thread(lambda: make_project("free"))
    thread.join(HANGS)
    return not raised and not thread.is_alive()


def rename(project, name):
    with transaction.atomic():
        Project.objects.filter(pk=project.pk).update(name=name)


def test_the_next_writer_starts_at_once_and_succeeds():
    project = make_project()
    asked, began = [], []

    def note(execute, sql, *rest):
        asked.append(sql)
        return execute(sql, *rest)

    def write():
        with connection.execute_wrapper(note), transaction.atomic():
            began.append(time.monotonic())
            Project.objects.filter(pk=project.pk).update(name="second")

    with transaction.atomic():
        Project.objects.filter(pk=project.pk).update(name="first")
        thread, raised = in_thread(write)
        time.sleep(MOMENT)
        # SQLite would look again every 100 ms.
        assert not began and not asked
        left = time.monotonic()
    thread.join(HANGS)
    assert not raised and asked[0] == "BEGIN IMMEDIATE"
    assert began[0] - left < 0.09 * crowding()
    assert reread(project).name == "second"


def test_another_process_waits_too():
    project = make_project()
    name = str(connection.settings_dict["NAME"])
    script = f"""
        import fcntl, os, sys
        file = os.open({name!r} + "-queue", os.O_RDWR)
        print("waiting", flush=True)
        fcntl.flock(file, fcntl.LOCK_EX)
        print("in", flush=True)
    """
    with transaction.atomic():
        other = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True)
        assert other.stdout.readline() == "waiting\n"
        assert not select.select([other.stdout], [], [], MOMENT)[0]
    assert other.stdout.readline() == "in\n"
    assert ended(other) == 0
    rename(project, "after it ended")


def test_failing_or_closing_leaves_the_queue():
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        raise ZeroDivisionError
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        connection.close()
        raise ZeroDivisionError
    make_project("taken")
    with pytest.raises(IntegrityError):
        Project.objects.create(name="Twice", slug="taken")  # outside a transaction
    assert is_free()


def test_a_thread_that_ends_without_closing_leaves_the_queue():
    def vanish():
        transaction.atomic().__enter__()
        # As if a thread ended without closing its connection.
        del connections["default"]
        gc.collect()

    thread, raised = in_thread(vanish)
    thread.join(HANGS)
    assert not raised and is_free()


def test_waiting_has_a_time_limit(monkeypatch):
    project = make_project()
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "timeout", 0.2)
    with transaction.atomic():
        Project.objects.filter(pk=project.pk).update(name="mine")
        thread, raised = in_thread(lambda: rename(project, "theirs"))
        thread.join(HANGS)
    assert [type(error) for error in raised] == [OperationalError]


def test_nothing_is_lost_when_many_write_at_once():
    project = make_project(annotators_per_note=0)

    def add():
        for _ in range(25):
            with transaction.atomic():
                row = Project.objects.get(pk=project.pk)
                row.annotators_per_note += 1
                row.save(update_fields=["annotators_per_note"])

    threads = [in_thread(add) for _ in range(6)]
    for thread, _ in threads:
        thread.join(HANGS)
    assert not any(raised for _, raised in threads)
    assert reread(project).annotators_per_note == 150


def test_a_write_outside_a_transaction_queues_too():
    """By polling it would rarely find a gap between writers that follow each other at once."""
    project = make_project()
    busy = threading.Event()
    busy.set()

    def write():
        while busy.is_set():
            with transaction.atomic():
                Project.objects.filter(pk=project.pk).update(language="it")
                time.sleep(0.01)

    threads = [in_thread(write) for _ in range(4)]
    try:
        began = time.monotonic()
        for _ in range(10):
            Project.objects.filter(pk=project.pk).update(name="outside")
        made = Project.objects.create(name="Another", slug="another")  # returns the key: a statement with rows
        took = time.monotonic() - began
    finally:
        busy.clear()
    for thread, raised in threads:
        thread.join(HANGS)
        assert not raised and not thread.is_alive()
    assert took < 1.5 * crowding()
    assert Project.objects.filter(pk=made.pk).exists()
    assert reread(project).name == "outside"


def test_a_new_database_is_private_whatever_the_umask(tmp_path):
    """Not only the run command with its own umask creates the file, but also `prepare` or a restore from a shell."""
    file = tmp_path / "new.sqlite3"
    before = os.umask(0o022)
    try:
        own = connection.copy()
        own.settings_dict = {**connection.settings_dict, "NAME": str(file)}
        with own.cursor() as cursor:
            cursor.execute("CREATE TABLE t (x)")
            modes = {each.name: each.stat().st_mode & 0o777 for each in tmp_path.iterdir()}
        own.close()
    finally:
        os.umask(before)
    assert {"new.sqlite3", "new.sqlite3-wal"} <= set(modes)
    assert set(modes.values()) == {0o600}


def test_deleted_text_is_overwritten_and_the_log_is_truncated():
    with connection.cursor() as cursor:
        assert cursor.execute("PRAGMA secure_delete").fetchone()[0] == 1
        assert 0 < cursor.execute("PRAGMA journal_size_limit").fetchone()[0] <= 2**26
