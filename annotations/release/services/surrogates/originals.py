"""The names in all notes of a release, which no surrogate may be, in memory of a fixed size."""

from collections.abc import Container, Iterable, Iterator
from hashlib import blake2b
from struct import Struct
from typing import Final

from annotations.core.sealing import Key
from annotations.release.rules.surrogates.clustering import PEOPLE, RuleClusterer, equality_key
from annotations.release.rules.surrogates.deciding import person_of
from annotations.release.rules.surrogates.pipeline import REPEATABLE
from annotations.release.rules.surrogates.templates import PLACES
from annotations.release.services.surrogates.patients import NoteMentions, mentioned

BYTES: Final = 1 << 22
"""With 1,000,000 names, 2 of 10,000 other texts are held for one of them; such a surrogate is made again."""
_DIGEST: Final = Struct(">4I")  # four bits of a name
_CLUSTERER: Final = RuleClusterer()


class Originals(Container[str]):
    """A Bloom filter of folded names. Its bits depend on the project's key, and are the same for every worker."""

    def __init__(self, key: Key) -> None:
        self._secret = key.digest("surrogate originals")
        self._bits = bytearray(BYTES)

    def add(self, notes: Iterable[NoteMentions]) -> None:
        """Add what the mentions of notes name: full names of people, institutions, streets, numbers and addresses.

        A surname or a given name alone isn't added, nor a city: then the common ones would be missing among the
        surrogates, and one that was missed in a note would be recognized.
        """
        for name in {name for note in notes for name in _names(note)}:
            for at in self._bits_of(name):
                self._bits[at >> 3] |= 1 << (at & 7)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and all(self._bits[at >> 3] & 1 << (at & 7) for at in self._bits_of(name))

    def _bits_of(self, name: str) -> Iterator[int]:
        digest = blake2b(name.encode("utf-8", "surrogatepass"), key=self._secret, digest_size=_DIGEST.size).digest()
        return (number % (BYTES * 8) for number in _DIGEST.unpack(digest))


def _names(note: NoteMentions) -> Iterator[str]:
    people = []
    for one in note.mentions:
        if one.kind in PEOPLE:
            people.append(mentioned(note.document, note.text, one))
        elif one.kind not in REPEATABLE and one.kind not in PLACES:
            yield equality_key(one.kind, one.text)
    for cluster in _CLUSTERER.cluster(people, note.language):
        person = person_of(cluster)
        if person.given and person.family:
            yield " ".join((*person.given, *person.family))
