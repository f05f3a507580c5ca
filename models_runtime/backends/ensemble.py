"""An ensemble of backends: each predicts, then they vote (annotations.text.combining)."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Final

from annotations.text.combining import Method, VotingModel, vote
from annotations.text.spans import Span, renamed, tokenize
from models_runtime.backends.base import Backend, BackendError, OneByOne, budget_of
from models_runtime.backends.marginals import GivesMarginals, Marked, mean_marginals

VERSION: Final = "2"


class Votes:
    """Counts the votes of `members` by `method`. `revisions[i]` is the revision of `members[i]`.

    `codes` maps labels that were merged to their present label, before votes are counted. Raises BackendError
    (permanent) if these members can't vote.
    """

    def __init__(
        self, members: Sequence[VotingModel], revisions: Sequence[str], *, method: Method, codes: Mapping[str, str]
    ) -> None:
        self._members, self._method, self.codes = list(members), method, codes
        self.revision = _revision(method, members, revisions)
        try:
            self.outcomes([[[]] for _ in members])
        except ValueError as error:
            raise BackendError(str(error)) from None

    @property
    def weights(self) -> list[float]:
        """The weights of the members: all alike except in a weighted vote."""
        return [member.weight if self._method is Method.WEIGHTED else 1.0 for member in self._members]

    def outcomes(self, columns: Sequence[Sequence[Sequence[Span]]]) -> list[list[Span]]:
        """The voted spans of each text. `columns[i]`: the spans of each text by `members[i]`."""
        return [
            vote(self._method, self._members, [renamed(spans, self.codes) for spans in texts_spans])
            for texts_spans in zip(*columns, strict=True)
        ]


class EnsembleBackend(OneByOne):
    """Votes over the spans of `backends[i]`, whose name is `members[i]`. See Votes."""

    name = "ensemble"

    def __init__(
        self,
        members: Sequence[VotingModel],
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
        """The voted spans of each text. Each member predicts all texts before the next one begins."""
        return self._votes.outcomes([backend.predict(texts) for backend in self._backends])

    def predict_marginals(self, texts: Sequence[str]) -> list[Marked]:
        """The voted spans of each text, and the mean probabilities of the members, weighted in a weighted vote.

        Raises BackendError (permanent) if a member gives no probabilities.
        """
        able = [backend for backend in self._backends if isinstance(backend, GivesMarginals)]
        if len(able) < len(self._backends):
            raise BackendError("A member of this ensemble gives no probabilities of labels.")
        columns = [backend.predict_marginals(texts) for backend in able]
        voted = self._votes.outcomes([[spans for spans, _ in column] for column in columns])
        means = (
            mean_marginals([marginals for _, marginals in row], self._votes.weights, self._votes.codes, tokenize(text))
            for text, row in zip(texts, zip(*columns, strict=True), strict=True)
        )
        return list(zip(voted, means, strict=True))


def _revision(method: Method, members: Sequence[VotingModel], revisions: Sequence[str]) -> str:
    """Changes with the method, and with a member's position, name, revision and (in a weighted vote) weight."""
    parts = [
        [member.name, revision, *([member.weight] if method is Method.WEIGHTED else [])]
        for member, revision in zip(members, revisions, strict=True)
    ]
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    return f"{VERSION}-{method}-{digest[:16]}"
