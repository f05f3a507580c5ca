"""Lists of generic words."""

from annotations.domain.leaks.generic import LANGUAGES, generic_words


def test_each_language_has_its_own_list_and_unknown_ones_have_all() -> None:
    assert "hospital" in generic_words(["en"])
    assert "ospedale" in generic_words(["it"]) - generic_words(["en"])
    assert "avenida" in generic_words(["es", "it"])
    assert generic_words([""]) == generic_words(LANGUAGES) == generic_words([])


def test_words_are_folded() -> None:
    assert "cirugia" in generic_words(["es"])


def test_common_names_of_people_and_places_are_not_generic() -> None:
    names = "leon rosa blanco cruz wilson smith rossi bianchi garcia navarro lugo roma boston mario carmen"
    assert not generic_words(LANGUAGES) & set(names.split())
