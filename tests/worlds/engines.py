"""Spark and Ray, where they are installed: each reads a folder of Parquet files with a function over Arrow batches."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ENGINES = ("ray", "pyspark")


@contextmanager
def _on_the_path(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the engine's workers import what this process can."""
    with patch.context() as changed:
        changed.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(Path.cwd()), *sys.path])))
        changed.setenv("PYSPARK_PYTHON", sys.executable)
        yield


def rows_of(engine: str, folder: Path, work: Any, schema: str, patch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The answers of `work`, a function over batches, to the rows of a folder, in any order. Skips if not installed."""
    found = pytest.importorskip(engine)
    with _on_the_path(patch):
        if engine == "ray":
            found.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
            try:
                read = found.data.read_parquet(str(folder)).map_batches(work.table, batch_format="pyarrow")
                return list(read.take_all())
            finally:
                found.shutdown()
        from pyspark.sql import SparkSession

        session = SparkSession.builder.master("local[2]").getOrCreate()
        try:
            answers = session.read.parquet(str(folder)).mapInArrow(work.batches, schema).collect()
            return [row.asDict(recursive=True) for row in answers]
        finally:
            session.stop()
