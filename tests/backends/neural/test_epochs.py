"""A killed training: what a later attempt restores, and what it doesn't repeat."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from models_runtime.backends.learner import Step, TrainingTask  # noqa: E402 - needs torch
from models_runtime.backends.neural.device import Device  # noqa: E402
from models_runtime.backends.neural.epochs import adapt, run_epochs  # noqa: E402
from models_runtime.backends.neural.learning import Loop, Plan  # noqa: E402

ORDERS = [[[0, 1], [2]], [[2], [0, 1]], [[1], [2, 0]], [[0], [1, 2]]]


class Killed(Exception):
    pass


def attempt(
    act: Callable[..., Any], checkpoint: Path, *, dies_after: int = 0, key: str = "k"
) -> tuple[dict[str, Any], list[Step], list[list[int]]]:
    """The final weights, the reported steps, and the batches that were trained."""
    torch.manual_seed(3)
    network = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout(0.5), torch.nn.Linear(3, 1))
    notes = torch.arange(9.0).reshape(3, 3)
    steps: list[Step] = []
    learned: list[list[int]] = []

    def loss(numbers: list[int]) -> Any:
        learned.append(list(numbers))
        return network(notes[numbers]).square().mean()

    def report(step: Step) -> None:
        steps.append(step)
        if step.iteration == dies_after:
            raise Killed

    torch.manual_seed(5)
    loop = Loop(network, loss, Plan(1e-2, warm_up=3), Device("cpu", "CPU", 64), steps=8)
    act(TrainingTask([], "set", checkpoint=checkpoint, report=report), loop, ORDERS, key)
    return network.state_dict(), steps, learned


def labels(*asked: Any) -> None:
    run_epochs(*asked, lambda: 0.5)


@pytest.mark.parametrize("act", [labels, adapt])
def test_a_killed_training_continues_after_its_last_epoch(act: Callable[..., Any], tmp_path: Path) -> None:
    """Epochs in the checkpoint are reported again, for the curve, but not trained again."""
    whole, steps, batches = attempt(act, tmp_path / "whole")
    assert batches == [batch for order in ORDERS for batch in order]
    with pytest.raises(Killed):
        attempt(act, tmp_path / "killed", dies_after=3)
    found, reported, learned = attempt(act, tmp_path / "killed")
    assert learned == [batch for order in ORDERS[2:] for batch in order]
    assert reported == steps and [step.iteration for step in reported] == [1, 2, 3, 4]
    assert {step.adapting for step in reported} == {act is adapt}
    assert all(torch.equal(found[name], value) for name, value in whole.items())


def test_a_finished_pre_training_is_not_repeated(tmp_path: Path) -> None:
    """A training that is killed after pre-training runs through pre-training again."""
    whole, steps, _ = attempt(adapt, tmp_path / "one")
    found, reported, learned = attempt(adapt, tmp_path / "one")
    assert (reported, learned) == (steps, [])
    assert all(torch.equal(found[name], value) for name, value in whole.items())


def test_checkpoints_of_other_tasks_and_damaged_ones_are_ignored(tmp_path: Path) -> None:
    whole, *_ = attempt(labels, tmp_path / "whole")
    with pytest.raises(Killed):
        attempt(labels, tmp_path / "other", dies_after=3, key="another")
    (tmp_path / "junk").write_bytes(b"junk")
    for name in ("other", "junk"):
        found, _, learned = attempt(labels, tmp_path / name)
        assert len(learned) == 8
        assert all(torch.equal(found[name], value) for name, value in whole.items())
