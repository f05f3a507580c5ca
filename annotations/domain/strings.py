"""The same string, wherever it stands: a number that two equal texts share."""

import hashlib


def string_key(text: str) -> int:
    """63 bits of the text, with every run of white space as one space. Letter case counts: "Rosa" is not "rosa".

    With a million strings two of them share a number about once in twenty million projects.
    """
    words = " ".join(text.split())
    return int.from_bytes(hashlib.blake2b(words.encode("utf-8", "surrogatepass"), digest_size=8).digest()) >> 1
