"""A number for the text of a span, by which equal strings are found in many notes."""

import hashlib


def string_key(text: str) -> int:
    """A 63-bit hash of the text, with every run of white space as one space. It is case-sensitive.

    In a project with a million different strings, two of them have the same number with a probability of about one in
    twenty million.
    """
    words = " ".join(text.split())
    return int.from_bytes(hashlib.blake2b(words.encode("utf-8", "surrogatepass"), digest_size=8).digest()) >> 1
