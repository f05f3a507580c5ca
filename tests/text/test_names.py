import hashlib
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.formats.notes import NoteError, Problem, check_name, check_text, decode_utf8
from annotations.text import names
from annotations.text.characters import Utf16
from annotations.text.hashes import gold_hash, text_sha256
from tests.text.strategies import cases

SCRIPTS = ["", "caso-001", "Größe", "תיק 12", "ملف ١٢", "病历", "a b", "née", "e\u0301", "👩\u200d⚕️", "O'Brien (2)"]


@pytest.mark.parametrize("name", SCRIPTS)
def test_letters_of_any_script_are_allowed(name):
    assert names.bad_character(name) == "" and names.printable(name) == name


BAD = [*range(0x20), 0x7F, 0x85, 0x61C, 0x200E, 0x200F, 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]


@pytest.mark.parametrize("code", [*BAD, 0xD800, 0xDFFF])
def test_forbidden_characters_in_names(code):
    name = f"caso{chr(code)}001"
    assert names.bad_character(name) == f"U+{code:04X}" and names.bad_character(names.printable(name)) == ""
    with pytest.raises(NoteError, match=f"U\\+{code:04X}") as caught:
        check_name(name)
    assert names.bad_character(str(caught.value)) == ""


KEEPABLE = [("a", False), ("é\u202e\n", False), ("a\0", True), ("é\0", True), ("\ud800", True)]


@pytest.mark.parametrize(("text", "bad"), KEEPABLE)
def test_characters_that_databases_reject(text, bad):
    assert names.unkeepable(text) is bad
    assert not names.unkeepable(names.keepable(text)) and len(names.keepable(text)) == len(text)
    assert bad or names.keepable(text) == text


# ── Notes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["a", "a/b-1", "S0004-06142005000100009-1", "Füße/note 1", "..a/b..", "a" * 255])
def test_good_names(name: str) -> None:
    assert check_name(name) == name


BAD_NAMES = [
    ("", "is empty"), ("../a", "“\\.” or"), ("a/../b", "“\\.” or"), ("a/..", "“\\.” or"), ("./a", "“\\.” or"),
    ("/etc/passwd", "starts with “/”"), ("a//b", "empty folder"), ("a/", "empty folder"), ("a\\..\\b", "backslash"),
    ("a\nb", "control character"), ("a\0b", "control character"), ("a\u2028b", "control character"),
    ("a\ud800", "control character"), ("a" * 256, "256 characters"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "words"), BAD_NAMES)
def test_bad_names(name: str, words: str) -> None:
    with pytest.raises(NoteError, match=words) as error:
        check_name(name)
    assert [problem.code for problem in error.value.problems] == ["name"]
    assert str(error.value).isprintable() and len(str(error.value)) < 200


UNDECODABLE = [
    ("Anna Müller".encode("latin-1"), "utf8", "0xfc 6"), ("Anna".encode("utf-16"), "utf8", "0xff 0"),
    (b"Anna \xed\xa0\x80", "utf8", "5"), (b"Anna\0", "nul", "4"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "code", "words"), UNDECODABLE)
def test_undecodable(data: bytes, code: str, words: str) -> None:
    with pytest.raises(NoteError) as error:
        decode_utf8(data, "notes/a.txt")
    (problem,) = error.value.problems
    assert (problem.file, problem.code) == ("notes/a.txt", code)
    assert all(word in problem.message for word in words.split()) and "Anna" not in str(error.value)


def test_decoding_keeps_every_character_but_an_unpaired_surrogate() -> None:
    assert decode_utf8("\ufeffÈ\r\n\r😀\u2028".encode(), "a.txt") == "\ufeffÈ\r\n\r😀\u2028"
    with pytest.raises(NoteError, match="4"):
        check_text("Anna\ud83d", "pasted")
    assert str(Problem("a.ann", 3, "x", "It is wrong.")) == "a.ann, line 3: It is wrong."
    assert str(Problem("a.ann", None, "x", "It is wrong.")) == "a.ann: It is wrong."


# ── Wording ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "value, stored",
    [("  a\r\nb\rc \n", "a\nb\nc"), ("<b>x</b>", "<b>x</b>"), ("\u202eמה", "\u202eמה"), ("x" * 10, "x" * 10)],
)
def test_stored(value, stored):
    assert names.worded(value, 10) == stored and names.worded("", 10, blank=True) == ""


INVALID_TEXTS = [
    ("", "empty"), (" \n\u200b", "empty"), ("a\0b", "NUL"), ("\ud83d", "surrogate"), ("x" * 11, "11"),
    (None, "string")
]  # fmt: skip


@pytest.mark.parametrize("value, says", INVALID_TEXTS)
def test_errors_don_t_quote_the_text(value, says):
    with pytest.raises(names.WordingError, match=says) as caught:
        names.worded(value, 10)
    assert "xxx" not in str(caught.value)


# ── Numbers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("word", "number"),
    [
        ("0", 0), ("007", 7), (str(names.MAX_ID), names.MAX_ID), (str(names.MAX_ID + 1), None), ("9" * 5_000, None),
        ("", None), ("-1", None), ("+1", None), ("1.0", None), (" 1", None), ("1_0", None), ("²", None), ("٣", None),
        ("0x1", None),
    ],
)  # fmt: skip
def test_whole(word, number):
    assert names.whole_number(word) == number


def test_the_largest_number():
    assert (names.whole_number("7", 7), names.whole_number("8", 7)) == (7, None)


@pytest.mark.parametrize("value", [True, 1.0, "1", None, [1], -1, names.MAX_ID + 1])
def test_other_json_values_are_not_whole_numbers(value):
    assert not names.is_whole(value) and names.is_whole(names.MAX_ID)


NOTES = [
    ("a", text_sha256("Anna"), [(0, 4, "NAME"), (0, 2, "ID")]),
    ("folder/b", text_sha256("1999"), [(0, 4, "DATE")]),
    ("c", text_sha256(""), []),
]


def test_the_hash_never_changes() -> None:
    # That of a text is that of its file.
    assert text_sha256("\ufeffÈ\r\n😀") == hashlib.sha256("\ufeffÈ\r\n😀".encode()).hexdigest()
    assert gold_hash([]) == hashlib.sha256(b"deidreview gold 1\n").hexdigest()
    row = b'["a","00",[[0,4,"NAME"],[5,6,"ID"]]]'
    names.whole = hashlib.sha256(b"deidreview gold 1\n" + hashlib.sha256(row).digest()).hexdigest()
    assert gold_hash([("a", "00", [(5, 6, "ID"), (0, 4, "NAME")])]) == names.whole


def test_the_order_does_not_matter() -> None:
    expected = gold_hash(NOTES)
    for seed in range(5):
        shuffled = [(name, sha, Random(seed).sample(spans, len(spans))) for name, sha, spans in NOTES]
        Random(seed).shuffle(shuffled)
        assert gold_hash(iter(shuffled)) == expected


CHANGED = [
    NOTES[:2], [("A", *NOTES[0][1:]), *NOTES[1:]], [("a", text_sha256("Anne"), NOTES[0][2]), *NOTES[1:]],
    [("a", NOTES[0][1], [(0, 4, "NAME"), (0, 3, "ID")]), *NOTES[1:]],
    [("a", NOTES[0][1], [(0, 4, "ID"), (0, 2, "NAME")]), *NOTES[1:]],
    [("a", NOTES[0][1], [(0, 4, "NAME")]), ("folder/b", NOTES[1][1], [(0, 4, "DATE"), (0, 2, "ID")]), NOTES[2]],
    [*NOTES, NOTES[2]],
]  # fmt: skip


@pytest.mark.parametrize("changed", CHANGED)
def test_every_change_gives_another_hash(changed: list) -> None:
    assert gold_hash(changed) != gold_hash(NOTES)


# A check of the table of offsets that the JavaScript tests use, against Python's own encoding.


@pytest.mark.parametrize("case", cases("offsets.json")["cases"], ids=lambda case: case["what"])
def test_the_table_has_the_utf16_offsets(case: dict) -> None:
    text = case["text"]
    assert case["units"] == [len(text[:point].encode("utf-16-le")) // 2 for point in range(len(text) + 1)]


# ── Conversion between code points and UTF-16 code units ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("text", "units"), [("a😀b", 2), ("😀", 1), ("Anna", 5), ("Anna", -1)])
def test_offsets_inside_a_character_or_outside_the_text(text: str, units: int) -> None:
    assert Utf16(text).points(units) is None


@given(st.text())
def test_as_the_encoding_counts(text: str) -> None:
    text = "".join(character for character in text if not "\ud800" <= character <= "\udfff")
    offsets = Utf16(text)
    for at in range(len(text) + 1):
        units = len(text[:at].encode("utf-16-le")) // 2
        assert offsets.units(at) == units and offsets.points(units) == at
