"""The names and towns of open lists: the files, and the marks that they give words."""

from pathlib import Path

import pytest

from models_runtime.backends.open_lists.lists import DATA, KINDS, LANGUAGES, marked, names

LARGEST = 300_000


def test_every_language_has_every_list() -> None:
    files = {f"{kind}_{language}.txt" for kind in KINDS for language in LANGUAGES}
    assert {file.name for file in DATA.iterdir()} == files
    notice = Path(DATA.parent, "NOTICE.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in notice for name in files), "every file has a source and a license"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_list_is_sorted_and_has_no_name_twice(kind: str, language: str) -> None:
    listed = names(kind, language)
    assert listed == sorted(set(listed)) and len(listed) > 400
    assert not any(len(name) < 3 or any(letter.isdigit() for letter in name) for name in listed)
    assert (DATA / f"{kind}_{language}.txt").stat().st_size < LARGEST


def test_marks_follow_the_fields_of_a_word() -> None:
    found = marked({"yecla": ["localidad/3"], "fiebre": ["motivo/1"]}, "es")
    assert found["yecla"] == ["localidad/3", "@town"] and found["fiebre"] == ["motivo/1"]
    assert "@given" in found["aitana"] and "@town+" in found["serena"], "Villanueva de la Serena"
    assert "del" not in found, "a short word of a name has no mark"
    assert list(found) == sorted(found)


def test_the_language_chooses_the_lists() -> None:
    assert "peoria" not in marked({}, "es") and "@town" in marked({}, "en")["peoria"]
    assert marked({}, "pt").keys() == marked({}, "").keys() >= {"peoria", "yecla"}
