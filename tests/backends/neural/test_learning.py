"""Parts of the networks: learning rates, the CRF layer, windows, devices and their memory."""

import gc
import weakref
from dataclasses import replace
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")
pytest.importorskip("numpy")

import numpy as np
import torch

from annotations.text.spans import Span
from models_runtime.backends.base import BackendError
from models_runtime.backends.epochs import adapt, run_epochs
from models_runtime.backends.learner import TrainingTask, task_key
from models_runtime.backends.neural import device
from models_runtime.backends.neural.crf import Crf, Tags, best_path
from models_runtime.backends.neural.learning import Loop, Plan, class_weights
from models_runtime.backends.token_classification.training import ALGORITHMS
from tests.backends.made import Killed

CPU = device.Device("cpu", "CPU", 64)
USUAL = ALGORITHMS["weighted"]


def loop_of(steps, plan):
    network = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.LayerNorm(3))
    shown = torch.randn(4, 3)
    return Loop(network, lambda numbers: network(shown)[:, 0].sum(), plan, CPU, steps=steps)


def test_class_weights_are_those_of_salierno_et_al():
    """wᵢ = Σf / (n·fᵢ): of 100 pieces 80, 15 and 5; the weight of a missing class is 1."""
    weights = class_weights({0: 80, 1: 15, 3: 5, 2: 0}, 4)
    assert weights.tolist() == pytest.approx([100 / 240, 100 / 45, 1.0, 100 / 15])


def test_the_rate_rises_in_the_warm_up_and_falls_linearly_to_zero():
    """With few steps, the warm-up takes a tenth of them."""
    for steps, points in (
        (6000, {0: 5e-5 / 500, 249: 2.5e-5, 499: 5e-5, 500 + 2750: 2.5e-5, 5999: 5e-5 / 5500}),
        (50, {0: 5e-5 / 5}),
    ):
        (factor,) = set(loop_of(steps, Plan(USUAL.rate, warm_up=USUAL.warm_up))._schedule.lr_lambdas)
        rates = [USUAL.rate * factor(step) for step in range(steps)]
        assert max(rates) == pytest.approx(5e-5) and {step: rates[step] for step in points} == pytest.approx(points)


def test_it_is_adamw_and_only_weights_decay():
    loop = loop_of(10, Plan(1e-3, warm_up=1))
    assert type(loop._optimizer) is torch.optim.AdamW
    decays = {id(value): group["weight_decay"] for group in loop._optimizer.param_groups for value in group["params"]}
    assert {name: decays[id(value)] for name, value in loop.network.named_parameters()} == {
        "0.weight": 0.01, "0.bias": 0.0, "1.weight": 0.0, "1.bias": 0.0
    }  # fmt: skip


def test_each_part_of_a_task_changes_its_key():
    whole = TrainingTask([("Anna", [Span(0, 4, "A")])], "set")
    changes = [
        {"notes": [("Anna", [Span(0, 4, "B")])]}, {"notes": [("Anne", [Span(0, 4, "A")])]}, {"label_set": "other"},
        {"algorithm": "x"}, {"language": "it"}, {"base": "x"}, {"adapt": 1}, {"grouping": 2}, {"unlabeled": ["x"]},
        {"held_out": [("Eva", [])]},
    ]  # fmt: skip
    keys = {task_key(whole), task_key(whole, "more"), *(task_key(replace(whole, **change)) for change in changes)}
    assert len(keys) == len(changes) + 2


ORDERS = [[[0, 1], [2]], [[2], [0, 1]], [[1], [2, 0]], [[0], [1, 2]]]


def attempt(act, checkpoint, *, dies_after=0, key="k"):
    """The final weights, the reported steps, and the batches that were trained."""
    torch.manual_seed(3)
    network = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout(0.5), torch.nn.Linear(3, 1))
    notes = torch.arange(9.0).reshape(3, 3)
    steps = []
    learned = []

    def loss(numbers):
        learned.append(list(numbers))
        return network(notes[numbers]).square().mean()

    def report(step):
        steps.append(step)
        if step.iteration == dies_after:
            raise Killed

    torch.manual_seed(5)
    loop = Loop(network, loss, Plan(1e-2, warm_up=3), device.Device("cpu", "CPU", 64), steps=8)
    act(TrainingTask([], "set", checkpoint=checkpoint, report=report), loop, ORDERS, key)
    return network.state_dict(), steps, learned


def labels(*asked):
    run_epochs(*asked, lambda: {"f1": 0.5})


@pytest.mark.parametrize("act", [labels, adapt])
def test_a_killed_training_continues_after_its_last_epoch(act, tmp_path):
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


def test_a_finished_pre_training_is_not_repeated(tmp_path):
    """A training that is killed after pre-training runs through pre-training again."""
    whole, steps, _ = attempt(adapt, tmp_path / "one")
    found, reported, learned = attempt(adapt, tmp_path / "one")
    assert (reported, learned) == (steps, []) and all(torch.equal(found[name], value) for name, value in whole.items())


def test_checkpoints_of_other_tasks_and_damaged_ones_are_ignored(tmp_path):
    whole, *_ = attempt(labels, tmp_path / "whole")
    with pytest.raises(Killed):
        attempt(labels, tmp_path / "other", dies_after=3, key="another")
    (tmp_path / "junk").write_bytes(b"junk")
    for name in ("other", "junk"):
        found, _, learned = attempt(labels, tmp_path / name)
        assert len(learned) == 8 and all(torch.equal(found[name], value) for name, value in whole.items())


# ── The CRF layer ─────────────────────────────────────────────────────────────────────────────────────────────────────
TAGS = Tags.of(["A", "B"])


def made() -> Crf:
    torch.manual_seed(3)
    crf = Crf(TAGS)
    for part in crf.parameters():
        torch.nn.init.normal_(part)
    return crf


def is_valid(path: tuple[int, ...]) -> bool:
    names = [TAGS.names[at] for at in path]
    return all(not b.startswith("I-") or a[2:] == b[2:] for a, b in [("O", names[0]), *pairwise(names)])


def score(crf: Crf, scores: "torch.Tensor", path: tuple[int, ...]) -> float:
    own = sum(scores[at, tag].item() for at, tag in enumerate(path))
    steps = sum(crf.steps[a, b].item() for a, b in pairwise(path))
    return own + steps + crf.first[path[0]].item() + crf.last[path[-1]].item()


@pytest.mark.parametrize("length", [1, 2, 4])
def test_loss_marginals_and_best_path(length: int) -> None:
    crf = made()
    scores = torch.randn(2, 5, len(TAGS))
    mask = torch.tensor([[at < length for at in range(5)], [True] * 5])
    paths = [path for path in product(range(len(TAGS)), repeat=length) if is_valid(path)]
    values = torch.tensor([score(crf, scores[0, :length], path) for path in paths])
    target = paths[len(paths) // 2]
    alone = crf.loss(scores[:1], mask[:1], torch.tensor([[*target, *[0] * (5 - length)]]))
    assert alone.item() == pytest.approx((values.logsumexp(0) - score(crf, scores[0], target)).item(), abs=1e-4)
    shares = (values - values.logsumexp(0)).exp()
    path, _ = crf.paths([scores[0, :length].numpy(), scores[1].numpy()], marginals=True)
    assert path.marginals is not None
    for at in range(length):
        for tag in range(len(TAGS)):
            expected = sum(share.item() for share, path in zip(shares, paths, strict=True) if path[at] == tag)
            assert path.marginals[at, tag] == pytest.approx(expected, abs=1e-4)
    best = max(paths, key=lambda path: score(crf, scores[0], path))
    assert path.tags == list(best)


def test_sums_over_all_paths_are_not_computed_in_bf16() -> None:
    crf = made()
    scores, mask = torch.randn(2, 60, len(TAGS)), torch.ones(2, 60, dtype=torch.bool)
    target = torch.zeros(2, 60, dtype=torch.long)
    exact = crf.loss(scores, mask, target)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert crf.loss(scores, mask, target).item() == exact.item()


def test_the_best_path_has_no_i_tag_without_its_b_tag() -> None:
    scores = np.array([[0, 0, 5, 0, 0], [0, 0, 0, 0, 5], [0, 0, 0, 0, 5]], dtype=np.float32)
    names = [TAGS.names[at] for at in best_path(scores, *TAGS.barred())]
    assert names == ["B-B", "I-B", "I-B"] and best_path(np.zeros((0, 5), dtype=np.float32), *TAGS.barred()) == []


# ── Windows ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@given(st.integers(0, 3000), st.integers(2, 510), st.data())
def test_every_piece_is_predicted_once_with_context(count: int, most: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, most - 1))
    found = device.windows(count, most, overlap)
    assert [at for window in found for at in range(window.kept, window.kept_past)] == list(range(count))
    for window in found:
        assert window.start <= window.kept < window.kept_past <= window.past and len(window) <= most
        assert window.start == 0 or window.kept - window.start >= overlap // 2
        assert window.past == count or window.past - window.kept_past >= overlap // 2
    assert len(found) <= 1 or all(len(window) == most for window in found)


def test_an_overlap_as_large_as_the_window_is_an_error() -> None:
    with pytest.raises(ValueError, match="can't overlap"):
        device.windows(100, 10, 10)


@given(st.lists(st.integers(1, 600), max_size=60), st.integers(1, 5000))
def test_batches_contain_each_item_once_and_keep_the_budget(lengths: list[int], budget: int) -> None:
    found = device.batches(lengths, budget)
    assert sorted(at for batch in found for at in batch) == list(range(len(lengths)))
    for batch in found:
        assert len(batch) == 1 or max(lengths[at] for at in batch) * len(batch) <= budget
    assert [max(lengths[at] for at in batch) for batch in found] == sorted(
        (max(lengths[at] for at in batch) for batch in found), reverse=True
    )


# ── Devices ───────────────────────────────────────────────────────────────────────────────────────────────────────────
AMPERE = device.Gpu("NVIDIA A100", bf16=True)
TURING = device.Gpu("Tesla T4", bf16=False)
# The CPU under another name, so that it counts as a GPU here: real networks run on it.
AS_GPU = device.Device("cpu:0", "GPU (made up)", budget=64)


@pytest.mark.parametrize(
    ("gpu", "requested", "name", "dtype", "budget", "words"),
    [
        (AMPERE, "auto", "cuda", torch.bfloat16, device.GPU_BUDGET, "GPU (NVIDIA A100, bf16)"),
        (AMPERE, "cuda", "cuda", torch.bfloat16, device.GPU_BUDGET, "GPU (NVIDIA A100, bf16)"),
        (AMPERE, "cpu", "cpu", torch.float32, device.CPU_BUDGET, "CPU"),
        (TURING, "auto", "cuda", torch.float32, device.GPU_BUDGET, "GPU (Tesla T4, single precision)"),
        (None, "auto", "cpu", torch.float32, device.CPU_BUDGET, "CPU (no GPU available)"),
        (None, "cpu", "cpu", torch.float32, device.CPU_BUDGET, "CPU"),
        (device.Gpu(why="X"), "auto", "cpu", torch.float32, device.CPU_BUDGET, "CPU (the GPU can't be used: X)"),
    ],
)  # fmt: skip
def test_each_card_has_its_place(gpu, requested, name, dtype, budget, words):
    torch.backends.cuda.enable_cudnn_sdp(True)
    found = device.select_device(gpu, requested)
    # A GPU doesn't use the attention that plans for every shape.
    assert torch.backends.cuda.cudnn_sdp_enabled() == (name == "cpu")
    assert (found.name, found.dtype, found.budget, found.description) == (name, dtype, budget, words)
    assert found.is_gpu == (name == "cuda")


@pytest.mark.parametrize("gpu", [None, device.Gpu(why="RuntimeError")])
def test_who_insists_on_a_gpu_is_told_that_there_is_none(gpu):
    with pytest.raises(BackendError, match="no usable GPU") as caught:
        device.select_device(gpu, "cuda")
    assert caught.value.permanent
    with pytest.raises(BackendError, match="Choose one of: auto, cpu, cuda"):
        device.select_device(gpu, "tpu")


def test_a_driver_that_fails_is_no_gpu(monkeypatch):
    """The driver fails in a forked process whose parent used the GPU, or if it is outdated."""

    def fails(*args, **kwargs):
        raise RuntimeError("Cannot re-initialize CUDA in forked subprocess")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", fails)
    assert device.choose_device().description == "CPU (the GPU can't be used: RuntimeError)"
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA A100")
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: not including_emulation)
    assert device.choose_device() == device.select_device(AMPERE)


class Small:
    """A GPU whose memory fits `room` tokens. Calls with larger batches fail, with tensors still in their frame."""

    def __init__(self, monkeypatch, room, lengths):
        self.room, self.lengths = room, lengths
        self.read_as, self.made, self.emptied = [], [], []
        monkeypatch.setattr(torch.cuda, "empty_cache", self._empty)

    def _empty(self):
        gc.collect()
        self.emptied.append(sum(one() is not None for one in self.made))

    def __call__(self, batch):
        scratch = torch.zeros(3)
        self.made.append(weakref.ref(scratch))
        if self.placement.device.is_gpu and len(batch) * max(self.lengths[at] for at in batch) > self.room:
            raise torch.OutOfMemoryError("CUDA out of memory")
        self.read_as.append((self.placement.device.name, list(batch)))

    def filled(self, place):
        self.placement = device.Placement(place, torch.nn.Linear(2, 2))
        self.placement.each(self.lengths, self)
        return [at for _, batch in self.read_as for at in batch]


def test_too_large_batches_are_repeated_in_smaller_ones(monkeypatch):
    memory = Small(monkeypatch, room=20, lengths=[5, 10, 5, 10, 5, 5, 5, 5])
    assert sorted(memory.filled(AS_GPU)) == list(range(8)), "each item exactly once, despite failed batches"
    assert memory.placement.device == replace(AS_GPU, budget=16)
    assert memory.emptied == [0, 0], "the tensors of a failed batch must be freed before the cache is emptied"


def test_an_item_that_never_fits_moves_the_networks_to_the_cpu(monkeypatch):
    memory = Small(monkeypatch, room=9, lengths=[3, 30, 3])
    assert sorted(memory.filled(AS_GPU)) == [0, 1, 2] and {name for name, _ in memory.read_as} == {"cpu"}
    assert memory.placement.device == device.Device("cpu", "CPU (the GPU memory is full)", device.CPU_BUDGET)


def test_networks_that_must_stay_fail(monkeypatch):
    assert device.select_device(AMPERE, "cuda").stays
    with pytest.raises(BackendError, match=r"The GPU memory is full\. Stop other programs that use the GPU") as caught:
        Small(monkeypatch, room=9, lengths=[30]).filled(replace(AS_GPU, stays=True))
    assert caught.value.permanent


class Heavy(torch.nn.Linear):
    """A network that doesn't fit into GPU memory."""

    def to(self, name):
        if name != "cpu":
            raise torch.OutOfMemoryError("CUDA out of memory")
        return super().to(name)


def test_a_network_that_does_not_fit_computes_on_the_cpu():
    assert device.Placement(AS_GPU, Heavy(2, 2)).device.description == "CPU (the GPU memory is full)"
    with pytest.raises(BackendError, match="memory is full"):
        device.Placement(replace(AS_GPU, stays=True), Heavy(2, 2))


def test_batches_of_light_items_are_larger():
    placement, read = device.Placement(replace(AS_GPU, budget=10)), []
    placement.each([10] * 8, lambda batch: read.append(len(batch)), light=4)
    assert read == [4, 4]
