"""What lies in the incoming folder: hostile names, links, half-written and broken files, and two workers at once."""

import json
import os
from datetime import date

import pytest
from django.core.management import CommandError
from django.test import override_settings

from annotations.models import Document
from models_runtime.feeds.rules import folders
from models_runtime.feeds.rules.naming import folder_name, is_ignored, kind_of, period_begin, quarantined_name
from models_runtime.models import Feed, FeedFile, FeedNote
from tests.feeds.feed_world import LETTERS, FeedWorld, states


@pytest.mark.parametrize(
    ("path", "ignored"),
    [
        ("a.txt", False),
        ("ward/a.pdf", False),
        (".a.txt", True),  # a file that a program hides while it copies
        (".cache/a.txt", True),
        ("a.txt.part", True),
        ("a.TMP", True),
        ("a.txt~", True),
        ("patients.csv", True),
        ("ward/patients.csv", False),
        ("quarantine/000001.pdf", True),
        ("ward/quarantine/a.txt", False),
    ],
)
def test_what_is_no_file_to_take(path, ignored):
    assert is_ignored(path) is ignored


def test_names_and_periods():
    assert [kind_of(name) for name in ("a.txt", "a.DOCX", "a.ndjson")] == ["note", "document", "records"]
    assert quarantined_name(7, "Rossi Mario.PDF") == "000007.pdf"
    assert quarantined_name(7, "a.pdf\u202egnp") == "000007"
    assert period_begin("week", date(2026, 3, 8)) == date(2026, 3, 2) and period_begin("day", date(2026, 3, 8)).day == 8
    assert folder_name(date(2026, 3, 2), 0) == "2026-03-02" and folder_name(date(2026, 3, 2), 1) == "2026-03-02-2"


def test_only_the_files_with_these_numbers_leave_the_quarantine(tmp_path):
    for name in ("000007.pdf", "000007.pdf.reason.json", "000008.pdf", "²7.pdf", "٧.pdf"):
        (tmp_path / name).touch()
    with folders.opened(tmp_path) as folder:
        folders.remove_numbered(folder, [7])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000008.pdf", "²7.pdf", "٧.pdf"]


def test_files_that_can_not_be_taken(feed_world: FeedWorld):
    feed = feed_world.add()
    outside = feed_world.root / "secret.txt"
    outside.write_text("Outside of the folder.\n")
    (feed_world.source / "link.txt").symlink_to(outside)
    (feed_world.source / "linked").symlink_to(feed_world.root)
    os.mkfifo(feed_world.source / "pipe.txt")
    feed_world.put("broken.pdf", b"%PDF-1.4 nothing of a PDF")
    feed_world.put("empty.txt", "")
    feed_world.put("white.txt", " \n")
    feed_world.put("bad\u202ename.txt", "A name that changes the direction of text.\n")
    feed_world.put("odd.xyz", b"\x00\x01\x02\x03")
    feed_world.put("good.txt", LETTERS["a.txt"])
    feed_world.put("copy.html", "<p>" + LETTERS["c.txt"] + "</p>")
    feed_world.put("half.txt.part", "Not compl")
    feed_world.put("closed.txt", "Nobody may read this.\n").chmod(0)
    with override_settings(UPLOAD_MAX_BYTES=1000):
        feed_world.put("large.txt", "x" * 1001)
        status = feed_world.run()
    reasons = dict(FeedFile.objects.filter(state="quarantined").values_list("name", "reason"))
    if os.geteuid() == 0:  # who may read everything
        reasons["closed.txt"] = "unreadable"
    assert reasons == {
        "odd.xyz": "refused", "empty.txt": "empty", "white.txt": "empty",
        "link.txt": "link", "linked": "link", "pipe.txt": "special", "broken.pdf": "refused", "large.txt": "large",
        "bad\\u202ename.txt": "name", "closed.txt": "unreadable",
    }  # fmt: skip
    assert "A feed takes .txt" in FeedFile.objects.get(name="odd.xyz").detail
    assert status["problem"] == "" and outside.exists()
    assert [name for name in feed_world.incoming() if not name.startswith("quarantine/")] == ["half.txt.part"]
    told = [json.loads(path.read_text()) for path in (feed_world.source / "quarantine").glob("*.reason.json")]
    assert {one["name"]: one["reason"] for one in told}["broken.pdf"] == "refused"
    assert all(os.path.lexists(feed_world.source / "quarantine" / quarantined_name(one.pk, one.name))
               for one in FeedFile.objects.filter(state="quarantined"))  # fmt: skip
    assert states(feed)["read"] == FeedNote.objects.count()


def test_content_is_taken_once_and_names_may_come_again(feed_world: FeedWorld):
    feed_world.add()
    feed_world.put("day.txt", "First day.\n")
    feed_world.run()
    feed_world.put("again/day.txt", "First day.\n")
    feed_world.put("day.txt", "Second day.\n")
    feed_world.put("same.html", "<p>Second day.</p>\n")
    feed_world.run()
    names = sorted(Document.objects.values_list("name", flat=True))
    assert names[0] == "letters/day" and names[1].startswith("letters/day~")
    assert FeedFile.objects.filter(state="imported").count() == len(names)
    assert [name for name in feed_world.incoming() if not name.startswith("quarantine/")] == []


def test_a_file_from_quarantine_is_tried_again(feed_world: FeedWorld):
    feed_world.add()
    with override_settings(NOTE_MAX_BYTES=10):
        feed_world.put("long.txt", LETTERS["a.txt"])
        feed_world.run()
    (file,) = FeedFile.objects.filter(state="quarantined", moved=True)
    assert Document.objects.count() == 0
    (feed_world.source / "quarantine" / quarantined_name(file.pk, "long.txt")).rename(feed_world.source / "long.txt")
    feed_world.run()
    assert FeedFile.objects.get().state == "imported" and Document.objects.count() == 1


def test_a_file_that_changes_is_left_alone(feed_world: FeedWorld, monkeypatch):
    feed_world.add()
    monkeypatch.setattr(folders, "SETTLED", 60.0)
    feed_world.put("a.txt", "Not compl")
    feed_world.run()
    assert feed_world.incoming() == ["a.txt"] and not FeedFile.objects.exists()


@pytest.mark.parametrize(
    ("source", "target", "code"),
    [
        ("in", "in/out", "out"),  # one lies in the other
        ("in", "in", "out"),
        ("in", "gone", "out"),
        ("..", "out", "in"),
        ("in/../..", "out", "in"),
        ("/etc", "out", "in"),
        ("linked", "out", "in"),  # a link out of the root
        ("", "out", "in"),
    ],
)
def test_folders_that_a_feed_may_not_have(feed_world: FeedWorld, source, target, code):
    (feed_world.root / "linked").symlink_to("/etc")
    (feed_world.source / "out").mkdir()
    with pytest.raises(CommandError):
        feed_world.command("add", "x", "--in", source or " ", "--out", target, "--run", "rules", "--policy", "mask")
    assert not Feed.objects.exists()


def test_a_folder_that_became_a_link(feed_world: FeedWorld):
    feed_world.add()
    feed_world.source.rename(feed_world.root / "elsewhere")
    feed_world.source.symlink_to(feed_world.root / "elsewhere")
    feed_world.put("a.txt", LETTERS["a.txt"])
    with pytest.raises(CommandError):
        feed_world.run()
    assert Feed.objects.get().problem and not Document.objects.exists()
