"""Words for one new surrogate: free ones of the lists, or made-up ones that no list has."""

import random
from collections.abc import Callable, Container, Sequence
from functools import cached_property
from typing import Final

from annotations.release.rules.surrogates.folding import LONG, accented, folded, long_words, runs
from annotations.release.rules.surrogates.gazetteers import (
    COMMON,
    KNOWN,
    RARE,
    Known,
    NamePool,
    known_language,
    names_of,
)
from annotations.release.rules.surrogates.people import titles
from annotations.release.rules.surrogates.pipeline import Around, Cluster
from annotations.release.rules.surrogates.scrambling import compact

TRIES: Final = 60


class SurrogateDraft:
    """The making of one surrogate: its chance, its entity, what is around, and the words that it must not use.

    `avoid`: folded texts that the surrogate must not be or contain. `attempt` counts collisions from 0. `used` holds
    the folded words that the surrogate has already.
    """

    def __init__(
        self, source: random.Random, cluster: Cluster, around: Around, avoid: Container[str], attempt: int
    ) -> None:
        self.source, self.cluster, self.around, self.avoid, self.attempt = source, cluster, around, avoid, attempt
        self.language = known_language(cluster.language)
        self.lists: NamePool = names_of(self.language)
        self.used: set[str] = set()

    @cached_property
    def own(self) -> set[str]:
        """The words of the entity, and the long ones of the patient's others, which must not stay in the notes."""
        words = {word for form in self.cluster.forms for word in folded(form).split()}
        words.update(*(long_words(form) for entity in self.around.related for form in entity.forms))
        return words

    def free(self, word: str) -> bool:
        """Whether a word may be used: not the original's, not used yet, not to avoid."""
        key = folded(word)
        if not key or key in self.used or key in self.own or key in titles():
            return False
        return (
            not any((run in self.avoid and len(run) >= LONG) or run in self.own for run in runs(key))
            and key not in self.avoid
        )

    def pick(self, pool: Sequence[str]) -> str:
        """A free word of the pool; empty if the pool is, or if there is none after some tries."""
        for _ in range(TRIES if len(pool) > 1 else 2 * len(pool)):
            word = self.source.choice(pool)
            if self.free(word):
                return word
        return ""

    def surname(self, key: str, text: str = "") -> str:
        known = self.lists.surnames.get(key)
        band = self._band(known, bool(key) and len(key) > 1)
        marked = accented(known.text) if known else accented(text)
        if band != RARE:
            pool = self.lists.surname_pools.get((band, marked)) or self.lists.surname_pools[KNOWN, False]
            if found := self.pick(pool):
                return self.use(found)
        return self.coin("surname", text or key)

    def given(self, key: str, gender: str, text: str = "") -> str:
        known = self.lists.given.get(key)
        band = self._band(known, bool(key) and len(key) > 1)
        marked = accented(known.text) if known else accented(text)
        if band != RARE:
            pools = self.lists.given_pools
            pool = pools.get((band, gender, marked)) or pools[KNOWN, gender, False]
            if found := self.pick(pool):
                return self.use(found)
        return self.coin(gender, text or key)

    def _band(self, known: Known | None, written: bool) -> int:
        if self.attempt > 8:
            return self.source.choice((KNOWN, RARE))
        if known is not None:
            return known.band
        if written:
            return RARE
        return self.source.choice((COMMON, COMMON, KNOWN))

    def coin(self, chain: str, like: str) -> str:
        made = ""
        for _ in range(TRIES):
            made = self.lists.chains[chain].coin(self.source, like)
            if self.free(made):
                break
        return self.use(made)

    def use(self, word: str) -> str:
        self.used.add(folded(word))
        return word

    def unlike(self, text: str, make: Callable[[], str]) -> str:
        """A made value that isn't the text and isn't to avoid."""
        made = make()
        for _ in range(TRIES):
            flat = compact(made).casefold()
            if flat != compact(text).casefold() and flat not in self.avoid and folded(made) not in self.avoid:
                break
            made = make()
        return made
