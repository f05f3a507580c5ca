"""The training loop (Salierno et al. 2024, section 6): class weights, AdamW, schedule, decay; and keys of tasks."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from annotations.domain.spans import Span  # noqa: E402 - needs torch
from models_runtime.backends.learner import TrainingTask, task_key  # noqa: E402
from models_runtime.backends.neural.device import Device  # noqa: E402
from models_runtime.backends.neural.learning import Loop, Plan, class_weights  # noqa: E402
from models_runtime.backends.token_classification.training import ALGORITHMS  # noqa: E402

CPU = Device("cpu", "CPU", 64)
USUAL = ALGORITHMS["weighted"]


def loop_of(steps: int, plan: Plan, steepness: float = 1.0) -> Loop:
    network = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.LayerNorm(3))
    shown = torch.randn(4, 3)
    return Loop(network, lambda numbers: steepness * network(shown)[:, 0].sum(), plan, CPU, steps=steps)


def test_class_weights_are_those_of_salierno_et_al() -> None:
    """wᵢ = Σf / (n·fᵢ): of 100 pieces 80, 15 and 5; the weight of a missing class is 1."""
    weights = class_weights({0: 80, 1: 15, 3: 5, 2: 0}, 4)
    assert weights.tolist() == pytest.approx([100 / 240, 100 / 45, 1.0, 100 / 15])


def test_the_defaults_are_those_of_salierno_et_al() -> None:
    assert next(iter(ALGORITHMS)) == "weighted"
    assert (USUAL.rate, USUAL.warm_up, USUAL.weighted, Plan(1, 1).decay) == (5e-5, 500, True, 0.01)


def test_the_rate_rises_in_the_warm_up_and_falls_linearly_to_zero() -> None:
    loop = loop_of(6000, Plan(USUAL.rate, warm_up=USUAL.warm_up))
    rates = []
    for _ in range(6000):
        rates.append(loop._optimizer.param_groups[0]["lr"])
        loop._optimizer.step()
        loop._schedule.step()
    assert rates[0] == pytest.approx(5e-5 / 500)
    assert rates[249] == pytest.approx(2.5e-5) and rates[499] == pytest.approx(5e-5)
    assert max(rates) == pytest.approx(5e-5)
    assert rates[500 + 2750] == pytest.approx(2.5e-5) and rates[-1] == pytest.approx(5e-5 / 5500)
    # With few steps, the warm-up takes a tenth of them.
    few = loop_of(50, Plan(USUAL.rate, warm_up=USUAL.warm_up))
    assert few._optimizer.param_groups[0]["lr"] == pytest.approx(5e-5 / 5)


def test_it_is_adamw_and_only_weights_decay() -> None:
    loop = loop_of(10, Plan(1e-3, warm_up=1))
    assert type(loop._optimizer) is torch.optim.AdamW
    decays = {id(value): group["weight_decay"] for group in loop._optimizer.param_groups for value in group["params"]}
    assert {name: decays[id(value)] for name, value in loop.network.named_parameters()} == {
        "0.weight": 0.01, "0.bias": 0.0, "1.weight": 0.0, "1.bias": 0.0,
    }  # fmt: skip


def test_gradients_are_clipped() -> None:
    loop = loop_of(3, Plan(1e-3, warm_up=1, clip=2.0), steepness=1e6)
    norms = []

    def watched(*_: object) -> None:
        norms.append(torch.cat([value.grad.flatten() for value in loop.network.parameters()]).norm().item())

    loop._optimizer.register_step_pre_hook(watched)
    list(loop.epoch([[0]] * 3))
    assert norms == pytest.approx([2.0] * 3, rel=1e-3)


def test_each_part_of_a_task_changes_its_key() -> None:
    whole = TrainingTask([("Anna", [Span(0, 4, "A")])], "set")
    changes = [
        {"notes": [("Anna", [Span(0, 4, "B")])]}, {"notes": [("Anne", [Span(0, 4, "A")])]}, {"label_set": "other"},
        {"algorithm": "x"}, {"language": "it"}, {"base": "x"}, {"adapt": 1}, {"grouping": 2}, {"unlabeled": ["x"]},
        {"held_out": [("Eva", [])]},
    ]  # fmt: skip
    keys = {task_key(whole), task_key(whole, "more"), *(task_key(replace(whole, **change)) for change in changes)}
    assert len(keys) == len(changes) + 2
