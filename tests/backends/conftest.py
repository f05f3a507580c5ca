"""What the tests of backends share."""

from collections.abc import Iterator
from dataclasses import replace

import pytest


@pytest.fixture(scope="session")
def small_networks() -> Iterator[None]:
    """Trainings of BiLSTM-CRFs and their language models in this process make narrow networks, which are faster."""
    pytest.importorskip("torch")
    from models_runtime.backends import characters as characters
    from models_runtime.backends.bilstm_crf import training

    narrow = {name: replace(hyper, hidden=64, rate=0.008) for name, hyper in training.ALGORITHMS.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "ALGORITHMS", narrow)
        patch.setattr(characters, "NARROW", replace(characters.NARROW, width=32))
        yield


@pytest.fixture(scope="module")
def small_spacy() -> Iterator[None]:
    """Trainings of spaCy's recognizer in this process make narrow networks, which learn a few notes by heart."""
    pytest.importorskip("spacy")
    from models_runtime.backends.spacy_ner import training
    from models_runtime.backends.spacy_ner.network import Sizes

    quick = {name: replace(hyper, rate=0.006, drop=0.0) for name, hyper in training.ALGORITHMS.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "ALGORITHMS", quick)
        patch.setattr(training, "Sizes", lambda: Sizes(48, 48, 24, depth=2, hidden=48))
        yield
