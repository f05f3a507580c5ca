"""The contract of all formats."""

import inspect

import pytest
from hypothesis import given

from annotations.domain.formats import FORMATS
from annotations.domain.formats.base import Format, OutNote
from annotations.domain.notes import NoteError
from annotations.domain.spans import Span, SpanError
from tests.domain.formats.helpers import NAMES, read_all, refused
from tests.domain.strategies import texts_with_spans

every_format = pytest.mark.parametrize("kind", sorted(FORMATS))
WITH_SPANS = sorted(set(FORMATS) - {"text"})
SYSTEM_FILES = [
    "annotation.conf",
    "sub/visual.conf",
    ".DS_Store",
    "sub/._a.txt",
    "__MACOSX/a.txt",
    "LICENSE",
    "README.md",
    "readme.txt",
    ".stats_cache",
    "sub/",
]


@every_format
def test_names_and_methods(kind: str) -> None:
    assert FORMATS[kind].name == kind
    for method in ("claims", "group", "read_many", "used_labels", "write", "extra_files"):
        ours = list(inspect.signature(getattr(FORMATS[kind], method)).parameters)
        assert ours == list(inspect.signature(getattr(Format, method)).parameters)[1:]


@every_format
def test_system_files_are_ignored(kind: str) -> None:
    groups, problems = FORMATS[kind].group([*SYSTEM_FILES, "sub/a.txt"])
    assert [group.name for group in groups] == ["sub/a"]
    assert problems == []


@every_format
def test_files_that_belong_to_no_note_are_problems(kind: str) -> None:
    names = ["a.txt", "a.TXT", "b.docx", "../c.txt", "/d.txt", "e\\f.txt"]
    groups, problems = FORMATS[kind].group(names)
    assert [group.name for group in groups] == ["a"]
    assert [(problem.file, problem.code) for problem in problems] == [
        ("a.TXT", "same name"),
        ("b.docx", "unknown file"),
        ("../c.txt", "name"),
        ("/d.txt", "name"),
        ("e\\\\f.txt", "name"),
    ]


@every_format
def test_a_text_file_alone_gives_a_note_without_annotations(kind: str) -> None:
    (note,) = read_all(kind, {"sub/a.txt": "\ufeffAnna\r\n"})
    assert not isinstance(note, NoteError)
    assert (note.name, note.text, note.spans, note.warnings) == ("sub/a", "\ufeffAnna\r\n", None, [])


@every_format
@pytest.mark.parametrize(("data", "code"), [("Müller".encode("latin-1"), "utf8"), (b"Anna\0", "nul")])
def test_an_invalid_text_is_refused(kind: str, data: bytes, code: str) -> None:
    (problem,) = refused(kind, {"a.txt": data})
    assert (problem.file, problem.code) == ("a.txt", code)


@every_format
@given(texts_with_spans())
def test_the_text_is_written_byte_for_byte(kind: str, made: tuple[str, list[Span]]) -> None:
    text, spans = made
    files, _ = FORMATS[kind].write(OutNote("sub/a", text, spans), NAMES)
    assert files["sub/a.txt"] == text.encode()


@every_format
def test_a_name_outside_the_folder_is_not_written(kind: str) -> None:
    with pytest.raises(NoteError):
        FORMATS[kind].write(OutNote("../a", "text", []), NAMES)


@pytest.mark.parametrize("kind", WITH_SPANS)
def test_a_span_outside_the_text_is_not_written(kind: str) -> None:
    with pytest.raises(SpanError):
        FORMATS[kind].write(OutNote("a", "text", [Span(0, 5, "NAME")]), NAMES)


@pytest.mark.parametrize("kind", WITH_SPANS)
def test_a_label_with_an_invalid_code_is_a_loss(kind: str) -> None:
    spans = [Span(0, 2, "ETÀ"), Span(3, 5, "NAME")]
    files, losses = FORMATS[kind].write(OutNote("a", "ab cd", spans), NAMES)
    assert [(loss.note, loss.span) for loss in losses] == [("a", spans[0])]
    assert "A-Z, a-z, 0-9" in losses[0].reason
    (note,) = read_all(kind, files)
    assert not isinstance(note, NoteError)
    assert note.spans == [spans[1]]


@pytest.mark.parametrize("kind", WITH_SPANS)
def test_labels_can_be_written_under_another_code(kind: str) -> None:
    files, losses = FORMATS[kind].write(OutNote("a", "Anna", [Span(0, 4, "NAME")]), {"NAME": "PERSON"})
    assert losses == []
    (note,) = read_all(kind, files, {"PERSON": "NAME"})
    assert not isinstance(note, NoteError)
    assert note.spans == [Span(0, 4, "NAME")]


def test_plain_text_loses_every_span() -> None:
    span = Span(0, 4, "NAME")
    files, losses = FORMATS["text"].write(OutNote("a", "Anna", [span]), NAMES)
    assert files == {"a.txt": b"Anna"}
    assert [(loss.span, loss.reason) for loss in losses] == [(span, "Plain text contains no spans.")]
