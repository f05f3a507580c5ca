"""A backend whose process is killed by what it reads."""

import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow

from annotations.text.spans import Span
from models_runtime.backends.arrow import BatchReader
from models_runtime.runs.services.bulk_pool import Part


class Kills:
    """A backend that kills its process for “always”, and for “once FILE” if the file doesn't exist."""

    name, revision, label_set, labels = "kills", "1", "test", ("ALL",)

    def predict(self, texts: Sequence[str]) -> list[list[Span]]:
        for text in texts:
            if text == "always":
                os.kill(os.getpid(), signal.SIGKILL)
            if text.startswith("once ") and not (file := Path(text.removeprefix("once "))).exists():
                file.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        return [[Span(0, len(text), "ALL")] for text in texts]


KILLS = BatchReader("tests.runs.bulk.killing.Kills", {})


def parts(folder: Path, texts: Sequence[str]) -> Iterator[Part]:
    """Parts of one text each."""
    for number, text in enumerate(texts):
        batch = pyarrow.RecordBatch.from_pydict({"id": ["a"], "text": [text]})
        yield Part(folder / f"{number}.parquet", batch, number)
