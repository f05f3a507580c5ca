"""MEDDOCAN inside the product: imported, frozen, learned from, read and scored by its own commands."""

import io
import json
import logging
import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from annotations.domain.spans import Span
from tests.bench.product import OURS
from tests.bench.rules import MEDDOCAN
from tests.quality.measuring import Note

BACKGROUND = MEDDOCAN / "background"


@contextmanager
def product() -> Iterator[None]:
    """A fresh installation of our own for as long as it is needed, in this process: no worker, no Redis."""
    with tempfile.TemporaryDirectory(prefix="deidreview-quality-") as folder:
        for name in [name for name in os.environ if name.startswith(OURS)]:
            del os.environ[name]
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "deidreview.settings",
            "DEIDREVIEW_DATA": folder,
            "DEIDREVIEW_SECRET_KEY": "only-to-measure-" + "x" * 40,
            "REDIS_URL": f"unix://{folder}/none.sock",
        }
        import django

        logging.disable(logging.WARNING)  # that Redis is away is meant
        django.setup()
        from django.core.management import call_command

        call_command("migrate", interactive=False, verbosity=0)
        yield


def command(*words: str) -> dict[str, Any]:
    """What one of the product's commands says with --json."""
    from django.core.management import call_command

    out = io.StringIO()
    call_command(*words, "--json", stdout=out, stderr=io.StringIO())
    found: dict[str, Any] = json.loads(out.getvalue().splitlines()[-1])
    return found


def gold_of(project: str, texts: Sequence[Path], train: Sequence[str], held_out: Sequence[str]) -> None:
    """A project of this slug; its gold version 1 learns from `train` and holds out `held_out`, notes of `texts`.

    MEDDOCAN's own split is by folder, which no seed gives: the sides are written as they are.
    """
    from annotations.models import GoldVersion, GoldVersionNote

    command("create_project", project, "--labels", "meddocan", "--language", "es", "--slug", project)
    with tempfile.TemporaryDirectory() as folder:
        wanted = {*train, *held_out}
        for file in (file for each in texts for file in each.iterdir() if file.stem in wanted):
            shutil.copy(file, folder)
        command("import_documents", project, folder, "--format", "brat", "--as", "gold")
    if BACKGROUND.is_dir():
        command("import_documents", project, str(BACKGROUND), "--format", "text")
    command("freeze_gold", project)
    version = GoldVersion.objects.get(project__slug=project)
    notes = GoldVersionNote.objects.filter(version=version)
    for side, names in (("train", train), ("dev", held_out)):
        for at in range(0, len(names), 500):
            notes.filter(document__name__in=names[at : at + 500]).update(split=side)
    GoldVersion.objects.filter(pk=version.pk).update(split_seed="by folder", split_shares={})


def without_background(project: str) -> None:
    """What was there to learn words from need not be read by every run."""
    from annotations.models import Document

    Document.objects.filter(project__slug=project).exclude(annotation_sets__author__kind="gold").delete()


def held_out_notes(project: str, run: str) -> Iterator[Note]:
    """The notes held out, with their gold and what the run says of them."""
    from annotations.models import GoldVersionNote
    from annotations.models import Span as SpanRow

    found: defaultdict[int, list[Span]] = defaultdict(list)
    rows = SpanRow.objects.filter(
        annotation_set__author__project__slug=project,
        annotation_set__author__kind="run",
        annotation_set__author__name=run,
    )
    for note, *place in rows.values_list("annotation_set__document", "start", "end", "label__code"):
        found[note].append(Span(*place))
    notes = GoldVersionNote.objects.filter(version__project__slug=project, split="dev")
    for row in notes.select_related("document").order_by("document_id"):
        gold = [Span(start, end, label) for start, end, label, _ in row.spans]
        yield row.document.text, gold, found[row.document_id]


def categories(project: str) -> dict[str, str]:
    """The project's label codes with their categories'."""
    from annotations.models import Label

    return dict(Label.objects.filter(label_set__project__slug=project).values_list("code", "category__code"))


def kinds_here() -> list[str]:
    """The kinds of models that this machine can train."""
    from models_runtime.core.registry import TRAINABLE, installed

    return [key for key, kind in TRAINABLE.items() if installed(kind)]
