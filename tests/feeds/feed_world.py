"""A project with a feed: invented notes in a folder, the rules as its run, and the policy `mask`."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from django.test import override_settings

from annotations.models import AnnotationSet, Document
from annotations.projects.services.projects import create_project
from annotations.review.services.finishing import finish_review
from models_runtime.feeds.rules import folders
from models_runtime.models import Feed, FeedNote
from tests import factories as make
from tests.held import fresh
from tests.worlds.commands import answered, told

LETTERS = {
    "a.txt": "Patient Adam Wilson called from 555-201-8834 on 03/14/2019.\n",
    "b.txt": "Adam Wilson came back, mail adam.wilson@wardpost.test, and felt well.\n",
    "c.txt": "No identifiers at all.\n",
}


def made_project() -> SimpleNamespace:
    project = create_project(name="Ward", slug="ward", label_set_key="i2b2-2014")
    mia, rev = make.make_member(project, "manager", "mia"), make.make_member(project, "reviewer", "rev")
    return SimpleNamespace(project=project, mia=mia, rev=rev)


@pytest.fixture(scope="module")
def made_feed_project(once) -> SimpleNamespace | None:
    return once(made_project)


class FeedWorld:
    """The project, its folders, and what tests do with them."""

    def __init__(self, root: Path, made: SimpleNamespace) -> None:
        self.root, self.project, self.mia, self.rev = root, made.project, made.mia, made.rev
        self.source, self.target = root / "in", root / "out"
        self.source.mkdir()
        self.target.mkdir()

    def add(self, *more: str) -> Feed:
        words = ["--in", "in", "--out", "out", "--run", "rules", "--by", "mia"]
        self.command("add", "letters", *words, *(more if "--policy" in more else ("--policy", "mask", *more)))
        return Feed.objects.get(name="letters")

    def command(self, act: str, *words: str) -> dict[str, Any]:
        return told("feed", act, "ward", *words)

    def run(self) -> dict[str, Any]:
        return self.command("run", "letters", "--once")

    def put(self, name: str, text: str | bytes) -> Path:
        path = self.source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def put_letters(self) -> None:
        for name, text in LETTERS.items():
            self.put(name, text)

    def review(self, *names: str) -> None:
        """Accept every suggestion of these notes, or of all that wait, and finish their reviews."""
        waiting = FeedNote.objects.filter(state="read").select_related("document", "run__author")
        for note in waiting:
            if not names or note.document.name.rpartition("/")[2] in names:
                spans = AnnotationSet.objects.get(document=note.document, author=note.run.author).spans
                finish_review(
                    document=Document.objects.get(pk=note.document_id), author=note.run.author, user=self.rev,
                    rest=set(spans.values_list("pk", flat=True)), with_doubtful=True,
                )  # fmt: skip

    def verified(self, folder: str) -> bool:
        """Whether the files of a part fit its certificate, by the command that a recipient uses."""
        path = self.target / folder
        found = answered("verify_certificate", path / "certificate.json", "--release", path)
        return isinstance(found, dict) and found["verified"]

    def delivered(self) -> dict[str, str]:
        found = sorted(self.target.rglob("note-*.txt"))
        return {str(path.relative_to(self.target)): path.read_text() for path in found}

    def tombstones(self) -> list[dict[str, Any]]:
        file = self.target / "tombstones.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def incoming(self) -> list[str]:
        return sorted(str(path.relative_to(self.source)) for path in self.source.rglob("*") if path.is_file())


@pytest.fixture
def feed_world(made_feed_project: SimpleNamespace | None, db: None, no_redis, tmp_path: Path) -> Iterator[FeedWorld]:
    with override_settings(FEED_ROOT=str(tmp_path)), patch.object(folders, "SETTLED", -1.0):
        yield FeedWorld(tmp_path, fresh(made_feed_project, made_project))


@contextmanager
def on(day: date) -> Iterator[None]:
    """Let it be this day for the periods of feeds."""
    with patch("django.utils.timezone.localdate", lambda *_about: day):
        yield


def states(feed: Feed) -> dict[str, int]:
    counted: dict[str, int] = {}
    for state in FeedNote.objects.filter(feed=feed).values_list("state", flat=True):
        counted[state] = counted.get(state, 0) + 1
    return counted
