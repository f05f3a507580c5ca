import pytest

from annotations.formats.files.safe_names import FileNames

NAMES = [
    (["a", "A", "b/a", "a~2"], ["a", "A~2", "b/a", "a~2~2"]),
    (["Caf\u00e9", "Cafe\u0301", "stra\u00dfe", "STRASSE"], ["Caf\u00e9", "Cafe\u0301~2", "stra\u00dfe", "STRASSE~2"]),
    (["con", "Lpt1.old", "nul/x", "console", "COM10"], ["_con", "_Lpt1.old", "_nul/x", "console", "COM10"]),
    (["a.", "dir. /b", "v1.2", "...", "a_"], ["a_", "dir__/b", "v1.2", "___", "a_~2"]),
    (['12:30 <x> "y"|?*', "a\\b", "a\x07\u202eb"], ["12_30 _x_ _y____", "a_b", "a__b"]),
    (["export", "Dr. Neri"], ["export~2", "Dr. Neri"]),
]


@pytest.mark.parametrize(("given", "wanted"), NAMES)
def test_names_that_every_system_holds_and_tells_apart(given: list[str], wanted: list[str]) -> None:
    names = FileNames()
    assert [names.of(name) for name in given] == wanted
    assert names.changed == {new: old for old, new in zip(given, wanted, strict=True) if old != new}


def test_long_names_are_cut_and_differ() -> None:
    names = FileNames()
    first, second = (names.of("\u6f22" * 100 + end, "train/") for end in "ab")
    assert first != second and max(len(name.encode()) for name in (first, second)) <= 200
    assert names.changed["train/" + first] == "train/" + "\u6f22" * 100 + "a"
