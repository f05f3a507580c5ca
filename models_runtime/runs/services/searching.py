"""What the rules find in a note, for the leak gate of a release. The rules are loaded when a note is searched."""

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from annotations.release.rules.redaction.policy import IdentifierType, kinds_of

if TYPE_CHECKING:
    from models_runtime.backends.rules.backend import RulesBackend


class RulesSearch:
    """The rules for a note's language; those for all languages where it is empty, and shapes alone in another one."""

    @property
    def revision(self) -> str:
        return _rules("").revision

    @property
    def kinds(self) -> frozenset[IdentifierType]:
        rules = _rules("")
        return frozenset(kinds_of(rules.label_set)[label] for label in rules.labels)

    def knows(self, language: str) -> bool:
        from models_runtime.backends.rules.backend import LANGUAGES

        return not language or language in LANGUAGES

    def find(self, text: str, language: str) -> Iterable[tuple[int, int, IdentifierType]]:
        rules = _rules(language)
        kind_of = kinds_of(rules.label_set)
        return [(span.start, span.end, kind_of[span.label]) for span in rules.predict([text])[0]]


@cache
def _rules(language: str) -> "RulesBackend":
    from models_runtime.backends.rules.backend import LANGUAGES, RulesBackend

    known = language in LANGUAGES
    return RulesBackend(languages=[language] if known else LANGUAGES, abroad=bool(language) and not known)
