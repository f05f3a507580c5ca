import pytest

from annotations.domain.names import bad_character, keepable, shown, unkeepable
from annotations.domain.notes import NoteError, check_name


@pytest.mark.parametrize(
    "name", ["", "caso-001", "Größe", "תיק 12", "ملف ١٢", "病历", "a b", "née", "e\u0301", "👩\u200d⚕️", "O'Brien (2)"]
)
def test_letters_of_any_script_are_allowed(name):
    assert bad_character(name) == "" and shown(name) == name


BAD = [*range(0x20), 0x7F, 0x85, 0x61C, 0x200E, 0x200F, 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]


@pytest.mark.parametrize("code", [*BAD, 0xD800, 0xDFFF])
def test_forbidden_characters_in_names(code):
    name = f"caso{chr(code)}001"
    assert bad_character(name) == f"U+{code:04X}"
    assert bad_character(shown(name)) == ""
    with pytest.raises(NoteError, match=f"U\\+{code:04X}") as caught:
        check_name(name)
    assert bad_character(str(caught.value)) == ""


@pytest.mark.parametrize(
    ("text", "bad"), [("a", False), ("é\u202e\n", False), ("a\0", True), ("é\0", True), ("\ud800", True)]
)
def test_characters_that_databases_reject(text, bad):
    assert unkeepable(text) is bad
    assert not unkeepable(keepable(text)) and len(keepable(text)) == len(text)
    assert bad or keepable(text) == text
