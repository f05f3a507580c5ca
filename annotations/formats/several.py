"""Files of several formats in one import: each is read in the format that claims it, with its companions."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from posixpath import dirname, splitext
from typing import Final

from annotations.formats.base import Files, InputFormat, NoteFiles, is_system_file
from annotations.formats.notes import NoteError, ParsedNote, Problem
from annotations.formats.registry import FORMATS, LOOKED_AT, READERS, Head, heads
from annotations.formats.text_files import MAP
from annotations.text.wording import gettext as _

SEVERAL: Final = "several"
"""The name of the format of files that are in several formats."""
_ALL: Final[Mapping[str, InputFormat]] = {**FORMATS, **READERS}
_TEXT: Final = FORMATS["text"].name
_CATCH_ALL: Final = FORMATS["inline"].name
"""It claims every XML file, so a file that another format of the import takes is left to that one."""
_TEXTS: Final = (".txt", f".{MAP}")


def claims_of(found: Iterable[Head]) -> dict[str, str]:
    """The format of each file that one claims. Formats with one reader, as those of CoNLL, count as the first one."""
    claims: dict[str, str] = {}
    first: dict[type[InputFormat], str] = {}
    for head in found:
        names = (name for name, format in _ALL.items() if name != _TEXT and format.claims(*head))
        if name := next(names, ""):
            claims[head[0]] = first.setdefault(type(_ALL[name]), name)
    others = set(claims.values()) - {_CATCH_ALL}
    return {
        file: name
        for file, name in claims.items()
        if name != _CATCH_ALL or not any(_takes(each, file) for each in others)
    }


def _formats_of(names: Iterable[str], files: Files) -> dict[str, str]:
    """`claims_of` all files. Where the first files of a folder with one ending agree, the others go with them."""
    alike: dict[tuple[str, str], list[str]] = {}
    for name in names:
        alike.setdefault((dirname(name), splitext(name)[1].lower()), []).append(name)
    claims = claims_of(head for group in alike.values() for head in heads(group, files))
    for group in alike.values():
        rest, said = group[LOOKED_AT:], {claims.get(name, "") for name in group[:LOOKED_AT]}
        if rest and len(said) > 1:
            claims |= claims_of(head for name in rest for head in heads([name], files))
        elif said != {""}:
            claims |= dict.fromkeys(rest, said.pop())
    return claims


def _takes(format: str, file: str) -> bool:
    """Whether a format reads files of this name."""
    return not any(problem.code == "unknown file" for problem in _ALL[format].group([file])[1])


class SeveralFormats(InputFormat):
    """Reads each file in the format that claims it. Text files that belong to no other file are notes by themselves.

    Grouping looks into `files`. Without them, the format can only read groups; each group names its format.
    """

    name = SEVERAL
    endings = ()

    def __init__(self, files: Files | None = None) -> None:
        self._files = files

    def group(self, names: Iterable[str]) -> tuple[list[NoteFiles], list[Problem]]:
        """Groups are in the order of `FORMATS`. A second file of one note is a problem."""
        assert self._files is not None
        given = sorted(name for name in names if not name.endswith("/") and not is_system_file(name))
        own, rest = _with_companions(given, _formats_of(given, self._files))
        groups: list[NoteFiles] = []
        problems: list[Problem] = []
        taken: dict[str, str] = {}
        for format in [name for name in _ALL if name in own]:
            texts = _texts_below(own[format], rest)
            found, strays = _ALL[format].group([*own[format], *texts])
            if any(group.texts for group in found):
                rest = [name for name in rest if name not in texts]
            else:
                found, strays = _ALL[format].group(own[format])
            problems += strays
            _add(groups, problems, taken, format, found)
        found, strays = _ALL[_TEXT].group(rest)
        _add(groups, problems, taken, _TEXT, found)
        return groups, problems + strays

    def read_many(self, note: NoteFiles, files: Files, labels: Mapping[str, str]) -> Iterator[ParsedNote | NoteError]:
        return _ALL[note.format].read_many(note, files, labels)

    def used_labels(self, note: NoteFiles, files: Files) -> Iterator[Counter[str]]:
        return _ALL[note.format].used_labels(note, files)


def _with_companions(names: Sequence[str], claims: Mapping[str, str]) -> tuple[dict[str, list[str]], list[str]]:
    """The files of each format, and those that belong to none.

    A file that no format claims belongs to the claimed files of the same name, as a text does; any other file than a
    text to a format that reads files of its name, preferably in its folder.
    """
    own: dict[str, list[str]] = {}
    stems: dict[str, set[str]] = {}
    folders: set[tuple[str, str]] = set()
    for file, format in claims.items():
        own.setdefault(format, []).append(file)
        stems.setdefault(splitext(file)[0], set()).add(format)
        folders.add((format, dirname(file)))
    formats, rest = list(own), []
    for file in [name for name in names if name not in claims]:
        mine = [format for format in stems.get(splitext(file)[0], ()) if _takes(format, file)]
        if not mine and not file.lower().endswith(_TEXTS):
            near = sorted(formats, key=lambda format: (format, dirname(file)) not in folders)
            mine = [format for format in near if _takes(format, file)][:1]
        for format in mine:
            own[format].append(file)
        if not mine:
            rest.append(file)
    return own, rest


def _texts_below(own: Sequence[str], rest: Iterable[str]) -> list[str]:
    """The text files in the folders of these files, and below. A file of many notes may belong to any of them."""
    folders = tuple({f"{dirname(name)}/".lstrip("/") for name in own})
    return [name for name in rest if name.lower().endswith(_TEXTS) and name.startswith(folders)]


def _add(
    groups: list[NoteFiles], problems: list[Problem], taken: dict[str, str], format: str, found: Iterable[NoteFiles]
) -> None:
    """Add groups of a format, except further files of a note, which are problems. `taken`: a file of each note."""
    for group in found:
        file = min(group.parts.values(), key=lambda name: name.lower().endswith(_TEXTS))
        if not group.bundle and group.name in taken:
            message = _("The file is ignored: “{other}” is the same note.", taken[group.name])
            problems.append(Problem(file, None, "same name", message))
            continue
        if not group.bundle:
            taken[group.name] = file
        groups.append(replace(group, format=format))
