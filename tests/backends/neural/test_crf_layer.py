"""The CRF layer and Viterbi, compared with an enumeration of all paths."""

from itertools import pairwise, product

import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")

from models_runtime.backends.neural.crf import Crf, Tags, best_path  # noqa: E402

TAGS = Tags.of(["A", "B"])


def made() -> Crf:
    torch.manual_seed(3)
    crf = Crf(TAGS)
    for part in crf.parameters():
        torch.nn.init.normal_(part)
    return crf


def is_valid(path: tuple[int, ...]) -> bool:
    names = [TAGS.names[at] for at in path]
    pairs = [("O", names[0]), *pairwise(names)]
    return all(not b.startswith("I-") or a[2:] == b[2:] for a, b in pairs)


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
    assert names == ["B-B", "I-B", "I-B"]
    assert best_path(np.zeros((0, 5), dtype=np.float32), *TAGS.barred()) == []
