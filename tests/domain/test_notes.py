import pytest

from annotations.domain.notes import NoteError, Problem, check_name, check_text, decode_utf8


@pytest.mark.parametrize("name", ["a", "a/b-1", "S0004-06142005000100009-1", "Füße/note 1", "..a/b..", "a" * 255])
def test_good_names(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "is empty"),
        ("../a", "“.” or “..”"),
        ("a/../b", "“.” or “..”"),
        ("a/..", "“.” or “..”"),
        ("./a", "“.” or “..”"),
        ("/etc/passwd", "starts with “/”"),
        ("a//b", "empty folder"),
        ("a/", "empty folder"),
        ("a\\..\\b", "backslash"),
        ("a\nb", "control character"),
        ("a\0b", "control character"),
        ("a\u2028b", "control character"),
        ("a\ud800", "control character"),
        ("a" * 256, "256 characters"),
    ],
)
def test_bad_names(name: str, words: str) -> None:
    with pytest.raises(NoteError) as error:
        check_name(name)
    (problem,) = error.value.problems
    assert problem.code == "name"
    assert words in problem.message
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 200


def test_decoding_keeps_every_character() -> None:
    assert decode_utf8("\ufeffÈ\r\n\r😀\u2028".encode(), "a.txt") == "\ufeffÈ\r\n\r😀\u2028"


@pytest.mark.parametrize(
    ("data", "code", "words"),
    [
        ("Anna Müller".encode("latin-1"), "utf8", "0xfc 6"),
        ("Anna".encode("utf-16"), "utf8", "0xff 0"),
        (b"Anna \xed\xa0\x80", "utf8", "5"),
        (b"Anna\0", "nul", "4"),
    ],
)
def test_undecodable(data: bytes, code: str, words: str) -> None:
    with pytest.raises(NoteError) as error:
        decode_utf8(data, "notes/a.txt")
    (problem,) = error.value.problems
    assert (problem.file, problem.code) == ("notes/a.txt", code)
    assert all(word in problem.message for word in words.split())
    assert "Anna" not in str(error.value)


def test_an_unpaired_surrogate_is_refused() -> None:
    with pytest.raises(NoteError, match="4"):
        check_text("Anna\ud83d", "pasted")


def test_problems_name_their_file_and_line() -> None:
    assert str(Problem("a.ann", 3, "x", "It is wrong.")) == "a.ann, line 3: It is wrong."
    assert str(Problem("a.ann", None, "x", "It is wrong.")) == "a.ann: It is wrong."
