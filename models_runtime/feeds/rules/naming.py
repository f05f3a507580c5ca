"""Pure rules of feeds: which entries of a folder are files to take, and to which period a day belongs."""

import re
from datetime import date, timedelta
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Final

from annotations.formats.base import DOCUMENT_EXTENSIONS

QUARANTINE: Final = "quarantine"
"""The folder inside the incoming one for files that can't be taken."""
PATIENTS: Final = "patients.csv"
"""The table of patient IDs in the incoming folder, which stays there."""
TOMBSTONES: Final = "tombstones.jsonl"
RECORDS_MANIFEST: Final = "manifest.json"
"""The signed list of the records of a part."""
UNFINISHED: Final = (".part", ".partial", ".filepart", ".crdownload", ".tmp", "~")
"""Endings of names under which programs write files that are not complete yet."""
_ENDING: Final = re.compile(r"\.[A-Za-z0-9]{1,8}\Z")


class FileKind(StrEnum):
    NOTE = "note"
    DOCUMENT = "document"
    RECORDS = "records"


def is_ignored(path: str) -> bool:
    """Whether a path in the incoming folder is no file to take: hidden, unfinished, or in a place of its own."""
    parts = PurePosixPath(path).parts
    return (
        any(part.startswith(".") for part in parts)
        or parts[0] == QUARANTINE
        or path == PATIENTS
        or parts[-1].lower().endswith(UNFINISHED)
    )


def kind_of(path: str) -> FileKind:
    """What a file holds, by its ending."""
    ending = PurePosixPath(path).suffix.lower().removeprefix(".")
    if ending in ("json", "jsonl", "ndjson", "parquet"):
        return FileKind.RECORDS
    return FileKind.DOCUMENT if ending in DOCUMENT_EXTENSIONS else FileKind.NOTE


def quarantined_name(number: int, path: str) -> str:
    """The name in quarantine: a number, and the ending where it is a usual one. It says nothing about a patient."""
    found = _ENDING.search(path)
    return f"{number:06d}{found[0].lower() if found else ''}"


def period_begin(period: str, day: date) -> date:
    """The first day of the period that the day belongs to: the day, or the Monday of its week."""
    return day - timedelta(days=day.weekday()) if period == "week" else day


def folder_name(begins: date, earlier: int, *, records: bool = False) -> str:
    """The folder of a part: its first day, with a number where the period has earlier parts of this kind."""
    name = begins.isoformat() + ("-records" if records else "")
    return f"{name}-{earlier + 1}" if earlier else name


def record_path(path: str) -> str:
    """Where the record lies whose note lies at this path: the folder of a part has nothing but what it certifies."""
    folder, _slash, name = path.rpartition("/")
    return f"{record_folder(folder)}/{name.removesuffix('.txt')}.json"


def record_folder(folder: str) -> str:
    """The folder of the records whose notes are in this folder."""
    return f"{folder}-json"
