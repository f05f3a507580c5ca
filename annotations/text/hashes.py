"""Content hashes of texts and gold versions."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any


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
