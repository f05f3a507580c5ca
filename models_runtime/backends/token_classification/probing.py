"""Fill-mask probe: which words a masked language model expects (Salierno et al. 2024, table 1).

The probe reads only sentences that a person wrote, or the invented ones below, and never a note. Its words may still be
words of notes, once the model has learned them.
"""

from collections.abc import Sequence
from typing import Any, Final

import torch

from models_runtime.backends.base import BackendError
from models_runtime.backends.learner import Filled
from models_runtime.backends.neural.device import Device
from models_runtime.backends.neural.windows import Window
from models_runtime.backends.token_classification.encoding import Pieces
from models_runtime.backends.token_classification.scoring import Scorer

MASK: Final = "[MASK]"
BETWEEN: Final = "|"
WORDS: Final = 5
DECIMALS: Final = 5
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
                    "A sentence of the probe must be short and have exactly one [MASK]. Correct the sentences.",
                    permanent=True,
                )
            self._encoded.append((encoded, at[0]))

    def fill(self, network: Any, device: Device) -> list[Filled]:
        """The likeliest words of each sentence, with their probabilities."""
        found = []
        for sentence, (encoded, at) in zip(self._sentences, self._encoded, strict=True):
            whole = Window(0, len(encoded.pieces), 0, len(encoded.pieces))
            with torch.inference_mode(), device.precision():
                scores = network(**self._scorer.inputs([(whole, encoded)], device)).logits
            chances = torch.softmax(scores[0, self._scorer.lead + at].float(), dim=-1)
            best = torch.topk(chances, min(WORDS, len(chances)))
            words = [
                (self._pieces.word(int(piece)), round(float(chance), DECIMALS))
                for chance, piece in zip(best.values, best.indices, strict=True)
            ]
            found.append(Filled(sentence=sentence, words=words))
        return found
