"""A lesson that was killed: what an attempt after it takes up, and what it does not do again."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from models_runtime.backends.learner import Lesson, Step  # noqa: E402 - needs torch
from models_runtime.backends.neural.device import Device  # noqa: E402
from models_runtime.backends.neural.learning import Loop, Plan  # noqa: E402
from models_runtime.backends.neural.teaching import adapt, taught  # noqa: E402

ORDERS = [[[0, 1], [2]], [[2], [0, 1]], [[1], [2, 0]], [[0], [1, 2]]]


class Killed(Exception):
    pass


def attempt(
    act: Callable[..., Any], checkpoint: Path, *, dies_after: int = 0, key: str = "k"
) -> tuple[dict[str, Any], list[Step], list[list[int]]]:
    """The weights in the end, the steps that were told, and the batches that were learned from."""
    torch.manual_seed(3)
    network = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout(0.5), torch.nn.Linear(3, 1))
    notes = torch.arange(9.0).reshape(3, 3)
    told: list[Step] = []
    learned: list[list[int]] = []

    def loss(numbers: list[int]) -> Any:
        learned.append(list(numbers))
        return network(notes[numbers]).square().mean()

    def report(step: Step) -> None:
        told.append(step)
        if step.iteration == dies_after:
            raise Killed

    torch.manual_seed(5)
    loop = Loop(network, loss, Plan(1e-2, warm_up=3), Device("cpu", "CPU", 64), steps=8)
    act(Lesson([], "set", checkpoint=checkpoint, report=report), loop, ORDERS, key)
    return network.state_dict(), told, learned


def labels(*asked: Any) -> None:
    taught(*asked, lambda: 0.5)


@pytest.mark.parametrize("act", [labels, adapt])
def test_a_killed_lesson_goes_on_where_it_stood(act: Callable[..., Any], tmp_path: Path) -> None:
    """The epochs that a checkpoint holds are told again, for the curve, and not learned again."""
    whole, steps, batches = attempt(act, tmp_path / "whole")
    assert batches == [batch for order in ORDERS for batch in order]
    with pytest.raises(Killed):
        attempt(act, tmp_path / "killed", dies_after=3)
    found, told, learned = attempt(act, tmp_path / "killed")
    assert learned == [batch for order in ORDERS[2:] for batch in order]
    assert told == steps and [step.iteration for step in told] == [1, 2, 3, 4]
    assert {step.adapting for step in told} == {act is adapt}
    assert all(torch.equal(found[name], value) for name, value in whole.items())


def test_a_language_that_was_learned_to_its_end_is_not_learned_again(tmp_path: Path) -> None:
    """Labels follow, and whoever is killed while learning these comes by here again."""
    whole, steps, _ = attempt(adapt, tmp_path / "one")
    found, told, learned = attempt(adapt, tmp_path / "one")
    assert (told, learned) == (steps, [])
    assert all(torch.equal(found[name], value) for name, value in whole.items())


def test_another_lesson_s_checkpoint_and_junk_are_a_fresh_start(tmp_path: Path) -> None:
    whole, *_ = attempt(labels, tmp_path / "whole")
    with pytest.raises(Killed):
        attempt(labels, tmp_path / "other", dies_after=3, key="another")
    (tmp_path / "junk").write_bytes(b"junk")
    for name in ("other", "junk"):
        found, _, learned = attempt(labels, tmp_path / name)
        assert len(learned) == 8
        assert all(torch.equal(found[name], value) for name, value in whole.items())
