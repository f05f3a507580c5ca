"""Ready-made splits: lines that assign notes, by name or by pattern, to train, dev or test."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from annotations.gold.rules.splits import Split, SplitError

_LINE: Final = re.compile(r"(?P<name>.*\S)\s*[\t,;\s]\s*(?P<split>\S+)")
_SHOWN: Final = 80


@dataclass(frozen=True)
class Assignment:
    """A line of a ready-made split: a note's name, or a pattern with `*`, and its split."""

    line: int
    name: str
    split: Split


def read_assignments(text: str) -> list[Assignment]:
    """Read lines such as `train/note-1.txt, train` or `dev/*<tab>dev`. Empty lines and those with # first are skipped.

    Raises SplitError, which names the line.
    """
    found: list[Assignment] = []
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        match = _LINE.fullmatch(stripped)
        if match is None:
            raise SplitError(
                f"Line {number}: “{stripped[:_SHOWN]}” has no split. Write the note's name, a comma and the split."
            )
        name, split = match["name"].rstrip(",;\t ").strip('"'), match["split"].strip('"').lower()
        if split not in set(Split):
            raise SplitError(
                f"Line {number}: “{split[:_SHOWN]}” is not a split for “{name[:_SHOWN]}”. "
                f"Choose one of: {', '.join(Split)}."
            )
        found.append(Assignment(number, name, Split(split)))
    if not found:
        raise SplitError("The split is empty. Write one line for each note or pattern.")
    return found


def assigned(assignments: Iterable[Assignment], notes: Iterable[str]) -> dict[str, Assignment]:
    """Return the line for each note. A line with the note's name comes before one with a pattern.

    Raises SplitError for a line without a note, a note without a line, and a note in two splits.
    """
    known = list(notes)
    names, lines = set(known), list(assignments)
    exact: dict[str, Assignment] = {}
    matched: dict[str, Assignment] = {}
    for each in lines:
        if each.name in names:
            _put(exact, each.name, each)
        elif "*" not in each.name:
            raise SplitError(f"Line {each.line}: this version has no note “{each.name[:_SHOWN]}”.")
        else:
            found = [name for name in known if fnmatchcase(name, _pattern(each.name))]
            if not found:
                raise SplitError(f"Line {each.line}: no note of this version matches “{each.name[:_SHOWN]}”.")
            for name in found:
                _put(matched, name, each)
    both = matched | exact
    if without := [name for name in known if name not in both]:
        raise SplitError(
            f"{len(without)} of {len(known)} notes have no split, the first one is “{without[0][:_SHOWN]}”. Add a line."
        )
    return both


def _pattern(text: str) -> str:
    """Only `*` has a meaning; names may contain brackets and question marks."""
    return re.sub(r"([?\[])", r"[\1]", text)


def _put(found: dict[str, Assignment], name: str, line: Assignment) -> None:
    before = found.setdefault(name, line)
    if before.split is not line.split:
        raise SplitError(
            f"Line {line.line}: the note “{name[:_SHOWN]}” is in {before.split} already, by line {before.line}."
        )


def whole_shares(counts: Mapping[Split, int]) -> dict[Split, int]:
    """The share of each split in whole percent, by largest remainders, so that they add up to 100."""
    total = sum(counts.values())
    exact = {split: 100 * counts.get(split, 0) / total for split in Split}
    shares = {split: int(share) for split, share in exact.items()}
    for split in sorted(Split, key=lambda split: shares[split] - exact[split])[: 100 - sum(shares.values())]:
        shares[split] += 1
    return shares
