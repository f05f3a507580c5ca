"""The training loop (Salierno et al. 2024, section 6): class weights, AdamW, schedule, decay; killed trainings."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from annotations.text.spans import Span  # noqa: E402 - needs torch
from models_runtime.backends.epochs import adapt, run_epochs  # noqa: E402
from models_runtime.backends.learner import Step, TrainingTask, task_key  # noqa: E402
from models_runtime.backends.neural.device import Device  # noqa: E402
from models_runtime.backends.neural.learning import Loop, Plan, class_weights  # noqa: E402
from models_runtime.backends.token_classification.training import ALGORITHMS  # noqa: E402
from tests.backends.made import Killed  # noqa: E402

CPU = Device("cpu", "CPU", 64)
USUAL = ALGORITHMS["weighted"]


def loop_of(steps: int, plan: Plan) -> Loop:
    network = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.LayerNorm(3))
    shown = torch.randn(4, 3)
    return Loop(network, lambda numbers: network(shown)[:, 0].sum(), plan, CPU, steps=steps)


def test_class_weights_are_those_of_salierno_et_al() -> None:
    """wᵢ = Σf / (n·fᵢ): of 100 pieces 80, 15 and 5; the weight of a missing class is 1."""
    weights = class_weights({0: 80, 1: 15, 3: 5, 2: 0}, 4)
    assert weights.tolist() == pytest.approx([100 / 240, 100 / 45, 1.0, 100 / 15])


def test_the_rate_rises_in_the_warm_up_and_falls_linearly_to_zero() -> None:
    """With few steps, the warm-up takes a tenth of them."""
    for steps, points in (
        (6000, {0: 5e-5 / 500, 249: 2.5e-5, 499: 5e-5, 500 + 2750: 2.5e-5, 5999: 5e-5 / 5500}),
        (50, {0: 5e-5 / 5}),
    ):
        (factor,) = set(loop_of(steps, Plan(USUAL.rate, warm_up=USUAL.warm_up))._schedule.lr_lambdas)
        rates = [USUAL.rate * factor(step) for step in range(steps)]
        assert max(rates) == pytest.approx(5e-5)
        assert {step: rates[step] for step in points} == pytest.approx(points)


def test_it_is_adamw_and_only_weights_decay() -> None:
    loop = loop_of(10, Plan(1e-3, warm_up=1))
    assert type(loop._optimizer) is torch.optim.AdamW
    decays = {id(value): group["weight_decay"] for group in loop._optimizer.param_groups for value in group["params"]}
    assert {name: decays[id(value)] for name, value in loop.network.named_parameters()} == {
        "0.weight": 0.01, "0.bias": 0.0, "1.weight": 0.0, "1.bias": 0.0
    }  # fmt: skip


def test_each_part_of_a_task_changes_its_key() -> None:
    whole = TrainingTask([("Anna", [Span(0, 4, "A")])], "set")
    changes = [
        {"notes": [("Anna", [Span(0, 4, "B")])]}, {"notes": [("Anne", [Span(0, 4, "A")])]}, {"label_set": "other"},
        {"algorithm": "x"}, {"language": "it"}, {"base": "x"}, {"adapt": 1}, {"grouping": 2}, {"unlabeled": ["x"]},
        {"held_out": [("Eva", [])]},
    ]  # fmt: skip
    keys = {task_key(whole), task_key(whole, "more"), *(task_key(replace(whole, **change)) for change in changes)}
    assert len(keys) == len(changes) + 2


ORDERS = [[[0, 1], [2]], [[2], [0, 1]], [[1], [2, 0]], [[0], [1, 2]]]


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
    run_epochs(*asked, lambda: {"f1": 0.5})


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
