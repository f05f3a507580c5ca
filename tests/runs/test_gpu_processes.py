"""A waiting worker does not hold a GPU, since only the work process loads the libraries that use one."""

from pathlib import Path

import pytest
from django.conf import settings

from annotations.models import Job
from models_runtime.models import Run
from models_runtime.runs.services.external import start_external
from tests import factories as make
from tests.backends.made import made_notes
from tests.waiting import wait_for
from tests.worlds.queue import wait_for_state

pytest.importorskip("torch")

from tests.backends.made_weights import tiny_bert

pytestmark = [pytest.mark.queue, pytest.mark.processes, pytest.mark.django_db(transaction=True)]


def libraries(pid):
    return Path(f"/proc/{pid}/maps").read_text()


def test_the_process_that_computed_is_gone_and_its_parent_never_loaded_torch(processes):
    """CUDA does not survive a fork, so only the forked process may initialize it. It ends with that process."""
    project = make.make_project()
    texts = [text for text, _ in made_notes(3)]
    for text in texts:
        make.make_note(project, text)
    folder = settings.DATA_DIR / "weights" / "for-a-worker"
    tiny_bert(folder, texts, ["O", "B-PER", "I-PER"])
    worker = processes("work")
    run = start_external(
        project=project,
        backend="token-classification",
        model="for-a-worker",
        labels={"PER": "PATIENT"},
        actor=None,
        key="k",
    )
    wait_for_state(run.job, Job.State.DONE, "the run to end", timeout=90)
    assert Run.objects.get().params["memory"] > 0
    wait_for(lambda: len(worker.tree) == 1, what="the work process to end")
    assert "libtorch" not in libraries(worker.pid) and "python" in libraries(worker.pid)
