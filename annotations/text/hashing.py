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
