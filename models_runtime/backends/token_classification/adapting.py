"""Language pre-training with masked words, before any label (Salierno et al. 2024, section 5).

15% of the pieces are chosen; of those, 80% are masked, 10% replaced, 10% unchanged (Devlin et al. 2019, section
3.1).
"""

import random
import tempfile
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import torch

from models_runtime.backends.base import BackendError
from models_runtime.backends.epochs import Orders
from models_runtime.backends.learner import FilledSentence, Step, StepFigures, TrainingTask
from models_runtime.backends.neural.device import Device, Placement, Window, batches, batches_of
from models_runtime.backends.neural.learning import IGNORED, Loop, Plan
from models_runtime.backends.token_classification.encoding import EncodedText, Pieces
from models_runtime.backends.token_classification.model import padding, room
from models_runtime.backends.token_classification.tagger import Scorer

# Fill-mask probe: which words a masked language model expects (Salierno et al. 2024, table 1).
#
# The probe reads only sentences that a person wrote, or the invented ones below, and never a note. Its words may still
# be words of notes, once the model has learned them.


MASK: Final = "[MASK]"
BETWEEN: Final = "|"
WORDS: Final = 5
PROBE_DECIMALS: Final = 5
# Invented sentences by language; English for all others.
SENTENCES: Final = {
    "en": ("The patient was [MASK] from the hospital.", "We recommend a follow-up [MASK] in six months."),
    "es": ("El paciente fue dado de [MASK] sin complicaciones.", "Se recomienda [MASK] dentro de seis meses."),
    "it": ("Il paziente viene [MASK] in buone condizioni.", "Si consiglia una [MASK] di controllo tra sei mesi."),
}


def sentences_of(asked: str, language: str) -> list[str]:
    """The sentences that a person gave, separated by `|`; otherwise the invented ones in the language."""
    given = [sentence.strip() for sentence in asked.split(BETWEEN) if sentence.strip()]
    return given or list(SENTENCES.get(language[:2].lower(), SENTENCES["en"]))


class Probe:
    """Fills the mask of some sentences. Raises BackendError (permanent) if a sentence doesn't have exactly one."""

    def __init__(self, pieces: Pieces, scorer: Scorer, sentences: Sequence[str]) -> None:
        self._pieces = pieces
        self._scorer = scorer
        self._sentences = sentences
        self._encoded = []
        for sentence in sentences:
            encoded = pieces.masked(sentence, MASK)
            at = [number for number, piece in enumerate(encoded.pieces) if piece == pieces.mask]
            if len(at) != 1 or len(encoded.pieces) > scorer.room:
                raise BackendError(
                    "A sentence of the probe must be short and have exactly one [MASK]. Correct the sentences."
                )
            self._encoded.append((encoded, at[0]))

    def fill(self, network: Any, device: Device) -> list[FilledSentence]:
        """The likeliest words of each sentence, with their probabilities."""
        found = []
        for sentence, (encoded, at) in zip(self._sentences, self._encoded, strict=True):
            whole = Window(0, len(encoded.pieces), 0, len(encoded.pieces))
            with torch.inference_mode(), device.precision():
                scores = network(**self._scorer.inputs([(whole, encoded)], device)).logits
            chances = torch.softmax(scores[0, self._scorer.lead + at].float(), dim=-1)
            best = torch.topk(chances, min(WORDS, len(chances)))
            words = [
                (self._pieces.word(int(piece)), round(float(chance), PROBE_DECIMALS))
                for chance, piece in zip(best.values, best.indices, strict=True)
            ]
            found.append(FilledSentence(sentence=sentence, words=words))
        return found


SHARE: Final = 0.15
MASKED: Final = 0.8
SWAPPED: Final = 0.1
# The masks of the held-out notes are the same in each epoch.
HELD_OUT_SEED: Final = 11
DECIMALS: Final = 4


class PieceMasker:
    """Masks pieces in batches. `around`: the number of special pieces before and after each window."""

    def __init__(self, mask: int, vocabulary: int, around: tuple[int, int]) -> None:
        self._mask = mask
        self._vocabulary = vocabulary
        self._before, self._after = around

    def __call__(self, ids: Any, there: Any) -> tuple[Any, Any]:
        """Masked pieces [windows, pieces], and the targets: the original pieces, IGNORED for pieces not chosen."""
        lengths = there.sum(dim=1, keepdim=True)
        at = torch.arange(ids.shape[1], device=ids.device)
        maskable = (at >= self._before) & (at < lengths - self._after)
        chosen = (torch.rand(ids.shape).to(ids.device) < SHARE) & maskable
        chosen[:, self._before] |= ~chosen.any(dim=1)  # each window needs a target
        right = torch.where(chosen, ids, IGNORED)
        dice = torch.rand(ids.shape).to(ids.device)
        other = torch.randint(self._vocabulary, ids.shape).to(ids.device)
        shown = torch.where(chosen & (dice < MASKED), self._mask, ids)
        shown = torch.where(chosen & (dice >= 1 - SWAPPED), other, shown)
        return shown, right


@dataclass(frozen=True, slots=True)
class WindowBatches:
    """`windows`: the number of windows in a batch; 0 for as many as have `pieces` pieces together, with padding.

    `parts`: a batch is computed in up to this many parts, whose gradients are accumulated, to save memory.
    """

    pieces: int
    windows: int = 0
    parts: int = 1

    def changed(self, settings: Mapping[str, Any]) -> Self:
        """The same, with the choices of a training's settings."""
        return replace(
            self, windows=settings.get("batch", self.windows), parts=settings.get("accumulation", self.parts)
        )

    def cut(self, lengths: Sequence[int]) -> list[list[int]]:
        """Batches of indexes of windows with similar lengths, the longest first."""
        return batches_of(lengths, self.windows) if self.windows else batches(lengths, self.pieces)


class StoredPieces:
    """The windows of texts, in their order. In memory, each has a few bytes.

    The pieces are in a file without a name in `folder` (the system's folder for temporary files if None). Nobody else
    can open it, and it vanishes with this process.
    """

    def __init__(self, texts: Iterable[Any], cut: Callable[[int], Sequence[Window]], folder: Path | None) -> None:
        """`texts`: arrays of pieces. `cut`: the windows over a number of pieces."""
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - open as long as this object exists
        self._starts, self._lengths = array("q"), array("i")
        written = 0
        for pieces in texts:
            for window in cut(len(pieces)):
                self._starts.append(written + window.start)
                self._lengths.append(len(window))
            self._file.write(np.asarray(pieces, dtype=np.int32).tobytes())
            written += len(pieces)
        self._file.flush()
        self._pieces = np.memmap(self._file, np.int32, "r", shape=(written,)) if written else np.zeros(0, np.int32)

    @property
    def lengths(self) -> Sequence[int]:
        """The number of pieces in each window."""
        return self._lengths

    def __len__(self) -> int:
        return len(self._lengths)

    def window(self, number: int) -> tuple[Window, EncodedText]:
        """A window and its pieces, as input of a Scorer."""
        start, length = self._starts[number], self._lengths[number]
        return Window(0, length, 0, length), EncodedText(self._pieces[start : start + length], [], [], [])


class MaskedLmTraining:
    """A masked-word training on the notes of a task and its other notes, except the held-out ones.

    Raises BackendError (permanent) if the tokenizer has no mask piece, and if there is no text.
    """

    def __init__(
        self,
        task: TrainingTask,
        network: Any,
        pieces: Pieces,
        batching: WindowBatches,
        device: Device,
        *,
        disjoint: bool,
    ) -> None:
        config = network.config
        if pieces.mask is None:
            raise BackendError("These weights don't support language pre-training: their tokenizer has no mask piece.")
        self.network = network.eval()
        Placement(device, network)
        self._scorer = Scorer(network, pieces.around, most=room(config), pad=padding(config), disjoint=disjoint)
        before, after = pieces.around
        self._masking = PieceMasker(pieces.mask, config.vocab_size, (len(before), len(after)))
        self._device = device
        self._batching = batching
        folder = task.checkpoint.parent if task.checkpoint else None
        texts = chain((text for text, _ in task.notes), task.unlabeled)
        self._stored = StoredPieces(map(pieces.numbers, texts), self._scorer.cut, folder)
        if not len(self._stored):
            raise BackendError("The notes have no text to learn from. Import notes first.")
        held_out = (pieces.numbers(text) for text, _ in task.held_out)
        self._held_out = StoredPieces(held_out, self._scorer.cut, folder)
        self._probe = Probe(pieces, self._scorer, sentences_of(str(task.settings.get("probe", "")), task.language))

    def orders(self, epochs: int) -> Orders:
        return Orders(epochs, self._order)

    def loop(self, orders: Orders, plan: Plan) -> Loop:
        return Loop(self.network, self._loss, plan, self._device, steps=orders.steps, parts=self._batching.parts)

    def figures(self) -> StepFigures:
        """The loss on the held-out notes, and what the model fills into the sentences of the probe."""
        return StepFigures(held_out_loss=self.held_out_loss(), probe=self._probe.fill(self.network, self._device))

    def first_step(self, most: int) -> Step:
        """The figures before the training, as a step with the iteration 0."""
        return Step(0, most, 0.0, **self.figures())

    def held_out_loss(self) -> float | None:
        """The mean cross-entropy of masked pieces (natural logarithm) of the held-out notes; None without any.

        The masks are always the same, and the random numbers of the training don't depend on this.
        """
        total, targets = 0.0, 0
        with torch.random.fork_rng(devices=[]), torch.inference_mode(), self._device.precision():
            torch.manual_seed(HELD_OUT_SEED)
            for numbers in batches(self._held_out.lengths, self._batching.pieces):
                loss, count = self._scored(self._held_out, numbers, reduction="sum")
                total, targets = total + float(loss), targets + count
        return round(total / targets, DECIMALS) if targets else None

    def _order(self, epoch: int) -> list[list[int]]:
        found = self._batching.cut(self._stored.lengths)
        random.Random(epoch).shuffle(found)  # noqa: S311 - an order of notes
        return found

    def _loss(self, numbers: Sequence[int]) -> Any:
        return self._scored(self._stored, numbers)[0]

    def _scored(self, stored: StoredPieces, numbers: Iterable[int], reduction: str = "mean") -> tuple[Any, int]:
        """The loss of masked windows, and the number of masked pieces."""
        inputs = self._scorer.inputs([stored.window(number) for number in numbers], self._device)
        shown, right = self._masking(inputs["input_ids"], inputs["attention_mask"])
        scores = self.network(**inputs | {"input_ids": shown}).logits.float()
        loss = torch.nn.functional.cross_entropy(
            scores.flatten(0, 1), right.flatten(), ignore_index=IGNORED, reduction=reduction
        )
        return loss, int((right != IGNORED).sum())
