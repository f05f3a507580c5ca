"""A text at the end of a zip file, as the archive's comment (PKWARE, APPNOTE.TXT 6.3.10, section 4.3.16).

A model's file carries its calibrations there: the rest of the file stays as it is, byte for byte, and readers that know
nothing of it read the same archive.
"""

from collections.abc import Iterable, Iterator
from typing import IO, Final

# The last part of a zip file without a comment, which ends with the length of the comment in two bytes.
_END: Final = b"PK\x05\x06"
_END_SIZE: Final = 22
_NO_COMMENT: Final = b"\0\0"
MOST: Final = 0xFFFF


def with_comment(chunks: Iterable[bytes], comment: bytes) -> Iterator[bytes]:
    """The content of a zip file that has no comment, with this one. It gets longer by the comment's length."""
    held = b""
    for data in chunks:
        whole = held + data
        yield whole[: -len(_NO_COMMENT)]
        held = whole[-len(_NO_COMMENT) :]
    if held != _NO_COMMENT or len(comment) > MOST:
        raise ValueError("The file already has a comment, or the new one is too long.")
    yield len(comment).to_bytes(2, "little") + comment


def ends_bare(tail: bytes) -> bool:
    """Whether a file that ends with `tail` (at least 22 bytes) is a zip file without a comment."""
    end = tail[-_END_SIZE:]
    return end.startswith(_END) and end.endswith(_NO_COMMENT)


def comment_of(content: IO[bytes], beginning: bytes) -> bytes:
    """The comment of a zip file if it starts with `beginning`, else empty."""
    size = content.seek(0, 2)
    content.seek(max(0, size - MOST - _END_SIZE))
    tail = content.read()
    at = tail.find(_END)
    while at >= 0:
        comment = tail[at + _END_SIZE :]
        length = int.from_bytes(tail[at + _END_SIZE - 2 : at + _END_SIZE], "little")
        if comment.startswith(beginning) and len(comment) == length:
            return comment
        at = tail.find(_END, at + 1)
    return b""


def without_comment(content: IO[bytes], comment: bytes, copy: IO[bytes], chunk: int) -> None:
    """Write the file without its `comment` to `copy`, as it was before `with_comment`."""
    left = content.seek(0, 2) - len(comment) - len(_NO_COMMENT)
    content.seek(0)
    while left and (data := content.read(min(chunk, left))):
        copy.write(data)
        left -= len(data)
    copy.write(_NO_COMMENT)
    copy.seek(0)
