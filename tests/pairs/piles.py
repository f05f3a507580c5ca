"""Piles of invented decisions, and projects that take them."""

import io

import pyarrow as pa
import pyarrow.parquet

from annotations.models import Job, Project
from annotations.pairs.services.starting import PairingOrder, start_pairing
from tests import zips
from tests.factories import make_project
from tests.pairs.decisions import Decision, invented
from tests.worlds.queue import worked

LABELS = [("OMISSIS", [("OMISSIS", "o")])]


def court(slug: str = "court") -> Project:
    return make_project(slug, LABELS, language="it")


def pile_of(count: int, tokens: int = 200) -> tuple[list[Decision], dict[str, str]]:
    """Invented decisions, and the texts of the pile by name: clear-1, published-1, …"""
    made = [invented(seed, tokens=tokens) for seed in range(1, count + 1)]
    texts = {f"clear-{number}": one.clear for number, one in enumerate(made, 1)}
    return made, texts | {f"published-{number}": one.published for number, one in enumerate(made, 1)}


def zipped(texts: dict[str, str]) -> io.BytesIO:
    return io.BytesIO(zips.zipped({f"{name}.txt": text for name, text in texts.items()}))


def parquet(texts: dict[str, str], **columns: str) -> io.BytesIO:
    out = io.BytesIO()
    rows = {"id": list(range(len(texts))), "file_name": [f"{name}.txt" for name in texts], "text": list(texts.values())}
    pyarrow.parquet.write_table(pa.table({columns.get(key, key): value for key, value in rows.items()}), out)
    out.seek(0)
    return out


def start(project: Project, texts: dict[str, str], actor: object = None, **order: object) -> Job:
    return start_pairing(
        project=project, name="pile.zip", content=zipped(texts), order=PairingOrder(**order), actor=actor
    )


def pair(project: Project, texts: dict[str, str], actor: object = None, **order: object) -> Job:
    """Pair the texts by a job that runs here. Return the ended job."""
    return worked(start(project, texts, actor, **order))
