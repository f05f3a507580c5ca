"""CoNLL without offsets, as most tools read and write it: a row for each token, with its tag in the last column.

`NAME.conll` and `NAME.txt` for one note, or one file for many. Where the text lies beside, the tokens are found in it,
and spans get their offsets from there; else the text is made of the tokens, with a warning: at the offsets that stand
in columns of other tools, if any. Texts have the name of the file, or the name after `-DOCSTART-`. Spans end with their
sentence, as in conlleval and seqeval, so that no sentence is written that ends inside a span.

The tags of all schemes are read by the same rule, whatever format is chosen. IOB2 tags are written in four columns
(conll2003, as in https://huggingface.co/datasets/eriktks/conll2003), or IOB1 or BIOES tags in two. Sources: Tjong Kim
Sang and De Meulder 2003, https://www.clips.uantwerpen.be/conll2003/ner/; for the row `-DOCSTART- -X- O O`, which spaCy
takes for the start of a note: https://spacy.io/api/cli#converters.
"""

import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from posixpath import dirname, join, splitext
from typing import Final

from annotations.formats import token_tags
from annotations.formats.base import HEAD, Files, Format, LabelFinder, NoteFiles, bare_note, numbered_name, split_names
from annotations.formats.columns.rows import MARK, Document, documents
from annotations.formats.conll import HEADER
from annotations.formats.notes import Loss, NoteError, OutNote, ParsedNote, Problem, check_name, decode_utf8, outcome
from annotations.text.bio import OUTSIDE, Scheme, as_bio, decode, in_scheme, split_any_tag
from annotations.text.characters import WHITE_SPACE
from annotations.text.spans import Token, Tokenizer, tokenize
from annotations.text.wording import gettext as _

ENDINGS: Final = (
    *("conll", "conll03", "conll2003", "iob", "iob1", "iob2", "bio", "bioes", "bilou", "tsv"),
    *("train", "dev", "valid", "test", "testa", "testb"),
)
"""The endings of files with rows. Such files often end in `.txt`, too: see `ColumnsFormat.group`."""
_ROWS: Final = "rows"
_FEW: Final = 3
_START: Final = f"{MARK} -X- O O\n\n"


class ColumnsFormat(Format):
    """Reads and writes CoNLL without offsets.

    With `filled`, there are two more columns between token and tag, for part of speech and chunk, without content.
    """

    endings = ("txt", *ENDINGS)
    options = frozenset({"sentences", "tokenizer"})

    def __init__(self, name: str, scheme: Scheme, *, filled: bool = False) -> None:
        self.name = name
        self._scheme = scheme
        self._between = " -X- O " if filled else " "

    def claims(self, name: str, head: bytes) -> bool:
        ending = splitext(name)[1][1:].lower()
        if ending == "txt" and not _are_rows(head):
            return False
        ours = ending in self.endings and not head.startswith(HEADER)
        return ours and _scheme_of(head) is self._scheme

    def group(self, names: Iterable[str]) -> tuple[list[NoteFiles], list[Problem]]:
        """A file of rows without a text file of the same name may have many notes.

        Each such file is a group; if there are text files without rows of the same name, which may belong to notes of
        any such file, all of them are one group. A text file that has nothing but rows is read as a file of rows.
        """
        found, problems = split_names(names, self.endings)
        whole: list[NoteFiles] = []
        texts: dict[str, str] = {}
        many: list[str] = []
        for name, parts in sorted(found.items()):
            text = parts.pop("txt", None)
            rows = [file for _, file in sorted(parts.items())]
            if text is None:
                many += rows
            elif not rows:
                texts[name] = text
            else:
                whole.append(NoteFiles(name, {"txt": text, _ROWS: rows[0]}))
                message = _("The file is ignored: “{other}” has the rows of the same note.", rows[0])
                problems += [Problem(file, None, "same name", message) for file in rows[1:]]
        names_of = _names(many)
        if many and texts:
            group = NoteFiles(names_of[many[0]], {_ROWS: many[0]}, tuple(many), texts)
            return [*whole, group], problems
        alone = [NoteFiles(name, {"txt": text}) for name, text in texts.items()]
        bundles = [NoteFiles(names_of[file], {_ROWS: file}, (file,)) for file in many]
        return sorted([*whole, *alone, *bundles], key=lambda group: group.name), problems

    def read_many(self, note: NoteFiles, files: Files, labels: Mapping[str, str]) -> Iterator[ParsedNote | NoteError]:
        """Texts that no file mentions come last, as notes without annotations."""
        reader = _Reader(files, LabelFinder(labels), note.texts)
        if not note.bundle:
            if _ROWS in note.parts:
                yield outcome(reader.pair, note)
            else:
                yield from reader.text(note.name, note.parts["txt"])
            return
        names = {note.bundle[0]: note.name} if len(note.bundle) == 1 else _names(note.bundle)
        for file in note.bundle:
            yield from reader.many(names[file], file)
        for name in sorted(set(note.texts) - reader.seen):
            yield from reader.text(name, note.texts[name])

    def used_labels(self, note: NoteFiles, files: Files) -> Iterator[Counter[str]]:
        found = [*note.bundle] or ([note.parts[_ROWS]] if _ROWS in note.parts else [])
        with suppress(NoteError):
            texts = [*note.texts.values()] if note.bundle else [] if found else [note.parts["txt"]]
            found += [text for text in texts if _has_rows(text, files)]
        for file in found:
            with suppress(NoteError), files.open(file) as stream:
                for document in documents(stream, file):
                    yield token_tags.count_labels(
                        tag
                        for sentence in document.sentences
                        for tag in as_bio(tag if token_tags.is_tag(tag) else OUTSIDE for tag in sentence.tags)
                    )

    def write(self, note: OutNote, labels: Mapping[str, str]) -> tuple[dict[str, bytes], list[Loss]]:
        """A token has one label, so overlapping spans cause losses."""
        name, text = check_name(note.name), note.text
        note = replace(note, spans=list(note.spans))
        encoded, losses = token_tags.tagged(note, labels, partial(_solid, self.tokenizer))
        pieces = [_START]
        words = token_tags.words_of(text, encoded.tokens)
        for first, past in token_tags.blocks(text, encoded, by_sentence=self.sentences, whole_spans=True):
            tags = in_scheme(encoded.tags[first:past], self._scheme)
            codes = token_tags.written_tags(tags, labels)
            rows = zip(words[first:past], tags, strict=True)
            pieces += [f"{word}{self._between}{codes[tag]}\n" for word, tag in rows]
            pieces.append("\n")
        return {f"{name}.txt": text.encode(), f"{name}.{ENDINGS[0]}": "".join(pieces).encode()}, losses


class _Reader:
    """Reads the files of one group. `seen` are the names of the notes that were read."""

    def __init__(self, files: Files, find_label: LabelFinder, texts: Mapping[str, str]) -> None:
        self.seen: set[str] = set()
        self._files = files
        self._find_label = find_label
        self._texts = texts

    def text(self, name: str, file: str) -> Iterator[ParsedNote | NoteError]:
        """A text file without rows of its own: a note without annotations, unless the text itself is rows."""
        has_rows = outcome(_has_rows, file, self._files)
        if has_rows is True:
            yield from self.many(name, file)
        else:
            yield has_rows if isinstance(has_rows, NoteError) else outcome(bare_note, name, file, self._files)

    def pair(self, note: NoteFiles) -> ParsedNote:
        """The rows of one note with its text."""
        file, beside = note.parts[_ROWS], note.parts["txt"]
        found = list(documents(io.BytesIO(self._files.load(file)), file))
        if len(found) > 1:
            message = _("A second note starts here, but this file belongs to one text file. Rename the file.")
            raise NoteError([Problem(file, found[1].line, "many notes", message)])
        return _parse(note.name, found[0], self._find_label, decode_utf8(self._files.load(beside), beside), beside)

    def many(self, base: str, file: str) -> Iterator[ParsedNote | NoteError]:
        """The notes of a file of rows. Notes without a name are numbered if there are several."""
        try:
            with self._files.open(file) as stream:
                several = len(list(islice(documents(stream, file), 2))) > 1
            with self._files.open(file) as stream:
                for number, document in enumerate(documents(stream, file), 1):
                    name = numbered_name(NoteFiles(base, {}), number) if several else base
                    yield outcome(self._named, name, document)
        except NoteError as error:
            yield error

    def _named(self, name: str, document: Document) -> ParsedNote:
        file = document.file
        if document.name:
            try:
                name = join(dirname(file), check_name(document.name))
            except NoteError as error:
                raise NoteError(
                    [Problem(file, document.line, "name", each.message) for each in error.problems]
                ) from None
        if name in self.seen:
            message = _("The note “{name}” occurs twice. Give each note a name of its own.", name)
            raise NoteError([Problem(file, document.line, "same name", message)])
        self.seen.add(name)
        beside = self._texts.get(name)
        if beside is None:
            return _parse(name, document, self._find_label)
        return _parse(name, document, self._find_label, decode_utf8(self._files.load(beside), beside), beside)


def _parse(
    name: str, document: Document, find_label: LabelFinder, text: str | None = None, beside: str = ""
) -> ParsedNote:
    """The note of some rows; without a text, one is made of the tokens. Raises NoteError with all problems."""
    file = document.file
    read_tag = token_tags.TagReader(find_label, split_any_tag)
    tags: list[str] = []
    for sentence in document.sentences:
        read = {tag: read_tag(tag) for tag in set(sentence.tags)}
        marks = [mark for tag in sentence.tags if isinstance(mark := read[tag], str)]
        if len(marks) < len(sentence.tags):
            for line, tag in zip(sentence.lines, sentence.tags, strict=True):
                if not isinstance(fault := read[tag], str):
                    document.refuse(line, *fault)
        tags += as_bio(marks)
    if text is None:
        found = token_tags.placed((sentence.words, sentence.starts) for sentence in document.sentences)
        text, tokens = found or token_tags.rebuilt(sentence.words for sentence in document.sentences)
        warnings = [Problem(file, document.line, "rebuilt", _(token_tags.PLACED if found else token_tags.REBUILT))]
    else:
        tokens, warnings = _aligned(text, document, beside)
    if document.problems:
        raise NoteError(document.problems)
    if document.blank:
        message = _("{count} rows without a token, the first one here, are left out.", len(document.blank))
        warnings.append(Problem(file, document.blank[0], "not kept", message))
    if document.wide:
        rows = (
            _("This row has")
            if len(document.wide) == 1
            else _("{count} rows, the first one here, have", len(document.wide))
        )
        message = _(
            "{rows_have} more columns than the others. The words before the usual columns were read as one token.", rows
        )
        warnings.append(Problem(file, document.wide[0], "wide", message))
    return ParsedNote(name, text, decode(tokens, tags), warnings)


def _aligned(text: str, document: Document, beside: str) -> tuple[list[Token], list[Problem]]:
    """The places of the tokens in the text, and warnings. A token that doesn't follow is a problem of the document."""
    lines = [line for sentence in document.sentences for line in sentence.lines]
    found = token_tags.align(text, [word for sentence in document.sentences for word in sentence.words])
    warnings = []
    if found.missing is not None:
        message = _(
            "The token of this row doesn't follow in the text of “{beside}” after character {at}. Expected: the "
            "tokens of that text, in order and unchanged; only white space may lie between them.",
            *(beside, found.at),
        )
        document.refuse(lines[found.missing], "quote", message)
    elif not token_tags.blank(text, found.at):
        message = _(
            "The rows end at character {at} of “{file}”. The rest of the text has no annotations.", found.at, beside
        )
        warnings.append(Problem(document.file, lines[-1] if lines else document.line, "short", message))
    if found.changed:
        message = _(
            "{count} tokens, the first one here, are written differently in “{beside}” (for example brackets as "
            "-LRB-, or quotes). The text was kept as it is.",
            *(len(found.changed), beside),
        )
        warnings.append(Problem(document.file, lines[found.changed[0]], "normalized", message))
    return found.tokens, warnings


def _solid(tokenizer: Tokenizer, text: str) -> list[Token]:
    """The tokens without white space in them, which would be a column, and without one that is a mark of notes."""
    if tokenizer is tokenize:
        return tokenize(text)  # the default rule gives no such tokens
    found: list[Token] = []
    for token in tokenizer(text):
        start = token.start
        for at in range(token.start, token.end):
            if text[at] in WHITE_SPACE:
                if at > start:
                    found.append(Token(start, at))
                start = at + 1
        if text[start : token.end] == MARK:
            found.append(Token(start, start + 1))
            start += 1
        if start < token.end:
            found.append(Token(start, token.end))
    return found


def _names(files: Iterable[str]) -> dict[str, str]:
    """The names of files without endings; the whole names where they would be equal."""
    found = {file: splitext(file)[0] for file in files}
    several = Counter(found.values())
    return {file: name if several[name] == 1 else file for file, name in found.items()}


def _has_rows(file: str, files: Files) -> bool:
    with files.open(file) as stream:
        return _are_rows(stream.read(HEAD))


def _are_rows(head: bytes) -> bool:
    """Whether the start of a text file is rows. A few words that look like rows may be a text."""
    if _scheme_of(head) is None:
        return False
    rows = head.split(b"\n")
    marked = any(row.startswith(MARK.encode()) for row in rows)
    tagged = [row for row in rows if not row.rstrip().endswith((b" O", b"\tO"))]
    return marked or (len(rows) > _FEW and any(row.strip() for row in tagged))


def _scheme_of(head: bytes) -> Scheme | None:
    """The scheme of the tags at the start of a file; None unless it has rows with tags, and nothing else."""
    if len(head) >= HEAD:
        head = head[: head.rfind(b"\n") + 1]
    found = list(documents(io.BytesIO(head), ""))
    sentences = [sentence.tags for document in found for sentence in document.sentences]
    if any(document.problems for document in found) or not (sentences or found[0].marked):
        return None
    tags = [tag for sentence in sentences for tag in sentence]
    if not all(map(token_tags.is_tag, tags)):
        return None
    if any(tag[0] in "ESLU" for tag in tags):
        return Scheme.BIOES
    read = [tag for sentence in sentences for tag in as_bio(sentence)]
    started = [given[0] for given, tag in zip(tags, read, strict=True) if tag[0] == "B"]
    return Scheme.IOB1 if started.count("I") > started.count("B") else Scheme.IOB2
