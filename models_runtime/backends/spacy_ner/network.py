"""The pipeline: a blank language, embedded columns, a convolution over tokens, spaCy's transition-based recognizer.

Transitions after Lample et al. 2016, section 3.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
import spacy
from spacy.language import Language
from spacy.ml.models.tok2vec import MaxoutWindowEncoder, build_Tok2Vec_model
from spacy.pipeline.ner import EntityRecognizer
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import registry
from thinc.api import HashEmbed, Maxout, Model, chain, concatenate, list2ragged, ragged2list, with_array

from models_runtime.backends.spacy_ner.columns import COLUMNS

ARCHITECTURE: Final = "deidreview.Notes.v1"
VALUES: Final = "columns"
NER: Final = "ner"


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of the network: output widths, and `depth` layers, each of which sees one more token on either side."""

    width: int = 96
    norm_width: int = 96
    column_width: int = 48
    depth: int = 4
    hidden: int = 64


@registry.architectures(ARCHITECTURE)  # type: ignore[untyped-decorator]  # spaCy has no types here
def notes_tok2vec(width: int, norm_width: int, column_width: int, depth: int) -> Any:
    """A model from documents to vectors of `width` per token. The columns are in a document's `user_data`."""
    tables: list[Any] = [
        HashEmbed(norm_width if name == "norm" else column_width, rows, seed=at + 7, column=at, dropout=0.0)
        for at, (name, rows) in enumerate(COLUMNS.items())
    ]
    wide = norm_width + column_width * (len(COLUMNS) - 1)
    embed: Any = chain(
        Model("note_columns", _columns),
        list2ragged(),
        with_array(concatenate(*tables)),
        with_array(Maxout(width, wide, nP=3, dropout=0.0, normalize=True)),
        ragged2list(),
    )
    encode = MaxoutWindowEncoder(width=width, window_size=1, maxout_pieces=3, depth=depth)
    return build_Tok2Vec_model(embed=embed, encode=encode)


def _columns(model: Any, docs: Sequence[Doc], is_train: bool) -> tuple[list[Any], Callable[[Any], list[Any]]]:
    return [model.ops.asarray2i(doc.user_data[VALUES], dtype="uint64") for doc in docs], lambda d_columns: []


def document(nlp: Language, columns: Any) -> Doc:
    """A sequence of tokens as a spaCy document. Words are only in the hashed columns, so that spaCy's vocabulary gets
    no word of a note and doesn't grow."""
    return Doc(nlp.vocab, words=["x"] * len(columns), user_data={VALUES: columns})


def blank(language: str, labels: Sequence[str], sizes: Sizes) -> Language:
    """An untrained pipeline with random weights, which depend only on the arguments and the seed."""
    nlp = spacy.blank(language)
    asked = asdict(sizes)
    tok2vec = {"@architectures": ARCHITECTURE} | {key: asked[key] for key in asked if key != "hidden"}
    model = {
        "@architectures": "spacy.TransitionBasedParser.v2",
        "state_type": "ner",
        "extra_state_tokens": False,
        "hidden_width": sizes.hidden,
        "maxout_pieces": 2,
        "use_upper": True,
        "tok2vec": tok2vec,
    }
    ner: Any = nlp.add_pipe(NER, config={"model": model})
    for label in labels:
        ner.add_label(label)
    sample = document(nlp, np.zeros((2, len(COLUMNS)), dtype="uint64"))
    sample.set_ents([])
    nlp.initialize(lambda: [Example(document(nlp, sample.user_data[VALUES]), sample)])
    return nlp


def recognizer(nlp: Language) -> EntityRecognizer:
    found: EntityRecognizer = nlp.get_pipe(NER)
    return found
