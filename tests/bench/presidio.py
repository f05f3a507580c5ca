"""Presidio's pattern recognisers as a backend, to stand beside ours: no model, no network. `pip install .[bench]`.

An AnalyzerEngine with a blank spaCy pipeline (a tokenizer alone, which its context words need) and every recogniser by
pattern that Presidio has for the language or for all languages.
"""

from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from annotations.domain.spans import Span


def installed() -> bool:
    return find_spec("presidio_analyzer") is not None


class PresidioBackend:
    """Its entity types are its labels; what is scored by place alone needs no others."""

    name, label_set, labels = "presidio", "presidio", ()

    def __init__(self, language: str = "es") -> None:
        import spacy
        import tldextract.tldextract as suffixes
        from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
        from presidio_analyzer.nlp_engine import SpacyNlpEngine

        # Else the first e-mail address found makes it look for a list of domains on the network.
        suffixes.TLD_EXTRACTOR = suffixes.TLDExtract(suffix_list_urls=(), cache_dir=None)
        engine = SpacyNlpEngine(models=[{"lang_code": language, "model_name": "blank"}])
        engine.nlp = {language: spacy.blank(language)}
        registry = RecognizerRegistry(supported_languages=[language])
        registry.load_predefined_recognizers(languages=[language])
        registry.recognizers = [each for each in registry.recognizers if each.name not in ("SpacyRecognizer",)]
        self.language = language
        self.revision = version("presidio-analyzer")
        self.recognizers = [each.name for each in registry.recognizers]
        self._analyzer: Any = AnalyzerEngine(registry=registry, nlp_engine=engine, supported_languages=[language])

    def predict(self, texts: Sequence[str]) -> list[list[Span]]:
        return list(self.stream(texts))

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        return map(self._read, texts)

    def _read(self, text: str) -> list[Span]:
        found = self._analyzer.analyze(text=text, language=self.language)
        return sorted({Span(each.start, each.end, each.entity_type, each.score, "presidio") for each in found})
