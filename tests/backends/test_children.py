"""The child process that trains models and opens uploaded files."""

import subprocess
from pathlib import Path

import pytest

from models_runtime.backends import children
from models_runtime.backends.base import BackendError

pytestmark = pytest.mark.usefixtures("cold_learners")


def test_a_child_gets_no_secrets_but_its_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, str] = {}

    class Watched(subprocess.Popen):  # type: ignore[type-arg]  # the type of its streams doesn't matter here
        def __init__(self, *words, env, **more):
            seen.update(env)
            super().__init__(*words, env=env, **more)

    for name in ("DATABASE_URL", "DEIDREVIEW_SECRET_KEY", "DEIDREVIEW_LLM_WARD_KEY"):
        monkeypatch.setenv(name, "a-secret")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    monkeypatch.setattr(subprocess, "Popen", Watched)
    with pytest.raises(BackendError, match="not a deidreview model"):
        children.check({"deidreview-crf": "models_runtime.backends.crf.training.LEARNER"}, tmp_path / "nothing.zip")
    assert seen["CUDA_VISIBLE_DEVICES"] == "1"
    assert "a-secret" not in seen.values()
