"""Notes a second of each backend on one core, on the same notes in the same run, with Presidio's patterns beside ours.

Only where MEDDOCAN is beside the repository. What learns learns from a part of train first: the CRF properly, since how
fast it reads depends on how much it knows; networks for an epoch, since theirs depends on their size alone.
"""

import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from models_runtime.backends.base import Backend
from models_runtime.backends.crf import CrfBackend
from models_runtime.backends.crf.training import train
from models_runtime.backends.learner import Lesson
from models_runtime.backends.rules import RulesBackend
from tests.bench.figures import Figure, over_rounds
from tests.bench.presidio import PresidioBackend, installed
from tests.bench.rules import meddocan, score

PART: Final = "readers"
LEARNED: Final = 200
STEPS: Final = 40
# The library that each needs, where it is, and what reads with it.
NETWORKS: Final = {
    "spacy": ("spacy", "models_runtime.backends.spacy_ner", "SpacyBackend"),
    "bilstm": ("torch", "models_runtime.backends.bilstm_crf", "BiLstmCrfBackend"),
}
FEW: Final = 40
AIMS: Final = {"rules": 300.0, "crf": 100.0}


def figures(rounds: int = 3) -> list[Figure]:
    """Rounds are taken in turn, so that whatever else the machine does falls on all alike."""
    learned, read = meddocan("train")[:LEARNED], meddocan("dev")
    if not learned or not read:
        return []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.zip"
        notes = [(note.text, note.spans or []) for note in learned]
        train(notes, path, label_set="meddocan", iterations=STEPS)
        backends: dict[str, Backend] = {"rules": RulesBackend("meddocan"), "crf": CrfBackend(str(path))}
        lesson = Lesson(notes[:FEW], "meddocan", iterations=1)
        for name, (library, module, reader) in NETWORKS.items():
            if find_spec(library):
                import_module(f"{module}.training").learn(lesson, place := Path(folder) / f"{name}.zip")
                backends[name] = getattr(import_module(f"{module}.backend"), reader)(str(place))
        if installed():
            backends["presidio"] = PresidioBackend("es")
        speeds = _speeds(backends, [note.text for note in read], rounds)
    found = [
        over_rounds(PART, f"{name}, one core", speeds[name], "notes/s", aim=AIMS.get(name), at_least=True)
        for name in backends
    ]
    if "presidio" in backends:
        said = score(backends["presidio"], read)
        found.append(Figure(PART, "presidio's patterns: character precision", 100 * said.precision, "%"))
        found.append(Figure(PART, "presidio's patterns: character recall", 100 * said.recall, "%"))
    return found


def _speeds(backends: Mapping[str, Backend], texts: Sequence[str], rounds: int) -> dict[str, list[float]]:
    """Of this process's own processor time, which is one core's; the first round warms up and isn't counted."""
    speeds: dict[str, list[float]] = {name: [] for name in backends}
    for turn in range(rounds + 1):
        for name, backend in backends.items():
            began = time.process_time()
            for _ in backend.stream(texts):
                pass
            if turn:
                speeds[name].append(len(texts) / (time.process_time() - began))
    return speeds
