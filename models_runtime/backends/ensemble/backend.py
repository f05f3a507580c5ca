"""The ensemble as a backend: its members read a batch one after the other, and vote note by note."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from annotations.domain.spans import Span, renamed
from annotations.domain.voting import Member, Method, vote
from models_runtime.backends.base import Backend, BackendError, budget_of

VERSION: Final = "2"


class Votes:
    """Counts the votes of `members` by `method`. `revisions[i]` says what the output of `members[i]` depends on.

    `codes` gives the label that a member's label means now, where that is another one; votes are counted after it.
    Raises BackendError (permanent) where these members can't vote.
    """

    def __init__(
        self, members: Sequence[Member], revisions: Sequence[str], *, method: Method, codes: Mapping[str, str]
    ) -> None:
        self._members, self._method, self.codes = list(members), method, codes
        self.revision = _revision(method, members, revisions)
        try:
            self.outcomes([[[]] for _ in members])
        except ValueError as error:
            raise BackendError(f"this ensemble can't vote: {error}", permanent=True) from None

    def outcomes(self, columns: Sequence[Sequence[Sequence[Span]]]) -> list[list[Span]]:
        """The outcome for each text; `columns[i]` holds what `members[i]` says of each."""
        return [
            vote(self._method, self._members, [renamed(reading, self.codes) for reading in readings])
            for readings in zip(*columns, strict=True)
        ]


class EnsembleBackend:
    """Votes over what `backends[i]`, called `members[i]`, says of a text. See Votes."""

    name = "ensemble"

    def __init__(
        self,
        members: Sequence[Member],
        backends: Sequence[Backend],
        *,
        method: Method,
        label_set: str,
        codes: Mapping[str, str] | None = None,
    ) -> None:
        self._backends = list(backends)
        self._votes = Votes(members, [backend.revision for backend in backends], method=method, codes=codes or {})
        self.label_set, self.revision = label_set, self._votes.revision
        self.budget = budget_of(*backends)
        self.labels = tuple(sorted({self._votes.codes.get(code, code) for each in backends for code in each.labels}))

    def predict(self, texts: Sequence[str]) -> list[list[Span]]:
        """The outcome for each text. Every member reads all of them before the next one begins."""
        return self._votes.outcomes([backend.predict(texts) for backend in self._backends])

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The outcome for each text as it comes."""
        return (self.predict([text])[0] for text in texts)


def _revision(method: Method, members: Sequence[Member], revisions: Sequence[str]) -> str:
    """Changes with the method, and with any member's place, name, revision, or (in a weighted vote) weight."""
    said = [
        [member.name, revision, *([member.weight] if method is Method.WEIGHTED else [])]
        for member, revision in zip(members, revisions, strict=True)
    ]
    digest = hashlib.sha256(json.dumps(said).encode()).hexdigest()
    return f"{VERSION}-{method}-{digest[:16]}"
