"""What the tests of backends share."""

from collections.abc import Iterator
from dataclasses import replace

import pytest


@pytest.fixture(scope="session")
def small_networks() -> Iterator[None]:
    """Trainings of BiLSTM-CRFs and their language models in this process make narrow networks, which are faster."""
    pytest.importorskip("torch")
    from models_runtime.backends.bilstm_crf import characters, training

    narrow = {name: replace(hyper, hidden=64, rate=0.004) for name, hyper in training.ALGORITHMS.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "ALGORITHMS", narrow)
        patch.setattr(characters, "LANGUAGE_HYPERPARAMETERS", replace(characters.LANGUAGE_HYPERPARAMETERS, width=32))
        yield
