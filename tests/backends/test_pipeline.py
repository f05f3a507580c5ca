"""The backend for pipelines trained elsewhere: contract, parts of texts, label maps, scores."""

from pathlib import Path

import pytest
import spacy
from spacy.tokens import Doc, Span, SpanGroup

from models_runtime.backends import Backend, BackendError
from models_runtime.backends.spacy_pipeline.backend import MOST, PipelineBackend, _entities, _parts
from tests.backends.contract import HOSTILE, BackendContract
from tests.backends.made import made_pipeline

MAP = {"PER": "PATIENT", "LOC": "CITY", "MISC": None}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_pipeline(tmp_path_factory.mktemp("pipelines") / "small")


@pytest.fixture(scope="module")
def loaded(path: Path) -> PipelineBackend:
    return PipelineBackend(str(path), labels=MAP, label_set="i2b2-2014")


class TestPipelineContract(BackendContract):
    words = "Paziente Rita Neri, di Madrid e Torino.\n"

    @pytest.fixture
    def backend(self, loaded: PipelineBackend) -> Backend:
        return loaded


def test_labels_are_mapped_and_labels_mapped_to_none_are_left_out(loaded: PipelineBackend) -> None:
    (found,) = loaded.predict(["Rita Neri, di Madrid, con Covid.\n"])
    assert [(span.start, span.end, span.label, span.confidence) for span in found] == [
        (0, 9, "PATIENT", None),
        (14, 20, "CITY", None),
    ]
    assert loaded.labels == ("CITY", "PATIENT")


def test_a_label_that_the_map_lacks_is_an_error(path: Path) -> None:
    backend = PipelineBackend(str(path), labels={"PER": "PATIENT"}, label_set="i2b2-2014")
    with pytest.raises(BackendError, match="“LOC”") as caught:
        backend.predict(["A Madrid."])
    assert caught.value.permanent


def test_another_map_is_another_revision(path: Path, loaded: PipelineBackend) -> None:
    other = PipelineBackend(str(path), labels=MAP | {"PER": "DOCTOR"}, label_set="i2b2-2014")
    assert other.revision != loaded.revision
    assert PipelineBackend(str(path), labels=MAP, label_set="i2b2-2014").revision == loaded.revision


def test_a_missing_pipeline_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="pipeline “none” can't be loaded") as caught:
        PipelineBackend(str(tmp_path / "none"), labels=MAP, label_set="i2b2-2014")
    assert caught.value.permanent


@pytest.mark.parametrize("text", [*HOSTILE.values(), "a b\n" * 30_000, "=" * 5_000, "x" * (MOST * 2 + 7)])
def test_the_parts_cover_a_whole_text(text: str) -> None:
    parts = list(_parts(text))
    assert "".join(text[start:end] for start, end in parts) == text
    assert all(0 < end - start <= MOST for start, end in parts) or parts == [(0, 0)]


def test_spans_of_a_span_categorizer_come_with_their_scores() -> None:
    doc = Doc(spacy.blank("it").vocab, words=["Rita", "Neri"], spaces=[True, False])
    doc.spans["sc"] = SpanGroup(doc, spans=[Span(doc, 0, 2, "PER")], attrs={"scores": [0.75]})
    assert list(_entities(doc)) == [(0, 9, "PER", 0.75)]
