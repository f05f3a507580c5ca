"""Content hashes of texts and gold versions."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final


def text_sha256(text: str) -> str:
    """The SHA-256 of the text in UTF-8, in hexadecimal; for an imported note the same as that of its file."""
    return hashlib.sha256(text.encode()).hexdigest()


def gold_hash(notes: Iterable[tuple[str, str, Iterable[Sequence[Any]]]]) -> str:
    """The SHA-256 of a gold version: of each note's name, `text_sha256` and spans.

    A span is (start, end, label code), for a span with attributes (start, end, label code, attributes as sorted pairs).

    The order of notes and spans doesn't matter. Each note is hashed separately as JSON, so that only one hash per note
    stays in memory.
    """
    digests = []
    for name, sha256, spans in notes:
        canonical = json.dumps([name, sha256, sorted(map(list, spans))], ensure_ascii=True, separators=(",", ":"))
        digests.append(hashlib.sha256(canonical.encode()).digest())
    whole = hashlib.sha256(b"deidreview gold 1\n")
    for digest in sorted(digests):
        whole.update(digest)
    return whole.hexdigest()


# A number for the text of a span, by which equal strings are found in many notes.


def string_key(text: str) -> int:
    """A 63-bit hash of the text, with every run of white space as one space. It is case-sensitive.

    In a project with a million different strings, two of them have the same number with a probability of about one in
    twenty million.
    """
    words = " ".join(text.split())
    return int.from_bytes(hashlib.blake2b(words.encode("utf-8", "surrogatepass"), digest_size=8).digest()) >> 1


# Keyed digests, without what belongs to the database: workers outside of it make the same ones.


_BLOCK: Final = 64  # bytes of a block of SHA-256
_quoted: Final = json.encoder.encode_basestring_ascii


@dataclass(frozen=True, repr=False)
class DigestKey:
    """The key of a project, as far as it makes digests."""

    secret: bytes

    def digest(self, purpose: str, *parts: str) -> bytes:
        """The HMAC-SHA256 of the parts, in 32 bytes. Digests for different purposes have nothing in common."""
        inner, outer = (state.copy() for state in self._hmac)
        # The JSON array of the strings: no two lists of strings give one message.
        inner.update(f"[{', '.join(map(_quoted, (purpose, *parts)))}]".encode())
        outer.update(inner.digest())
        return outer.digest()

    def hexdigest(self, purpose: str, *parts: str) -> str:
        return self.digest(purpose, *parts).hex()

    def number(self, purpose: str, *parts: str) -> int:
        """A signed number of 64 bits, for an indexed column."""
        return int.from_bytes(self.digest(purpose, *parts)[:8], "big", signed=True)

    @cached_property
    def _hmac(self) -> tuple["hashlib._Hash", "hashlib._Hash"]:
        """The states of both hashes after the key (RFC 2104), which each digest copies.

        This takes less than half the time of Python's own HMAC, and a release with surrogates needs 60 digests a note.
        """
        secret = self.secret if len(self.secret) <= _BLOCK else hashlib.sha256(self.secret).digest()
        padded = secret.ljust(_BLOCK, b"\0")
        return hashlib.sha256(bytes(one ^ 0x36 for one in padded)), hashlib.sha256(bytes(one ^ 0x5C for one in padded))
