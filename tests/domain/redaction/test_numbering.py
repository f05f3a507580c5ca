"""Numbers of entities in one note."""

from annotations.domain.redaction.kinds import Kind
from annotations.domain.redaction.numbering import numbered
from annotations.domain.redaction.released import Mention


def numbers(*texts: str, kind: Kind = Kind.NAME, label: str = "NAME") -> list[int]:
    mentions = [Mention(at * 100, at * 100 + len(text), label, kind, text) for at, text in enumerate(texts)]
    found = numbered(mentions)
    return [found[mention.start, mention.end] for mention in mentions]


def test_equal_folded_texts_and_parts_of_a_longer_name_are_one_person() -> None:
    assert numbers("Wilson", "Dr. Adam Wilson", "ADAM WILSON", "A. Wilson", "Wilson, Adam") == [1, 1, 1, 1, 1]
    assert numbers("Peña", "pena", "Eve Chang", "Chang") == [1, 1, 2, 2]


def test_an_initial_that_differs_is_another_person() -> None:
    assert numbers("Adam Wilson", "E. Wilson", "A.") == [1, 2, 3]


def test_a_part_of_several_names_belongs_to_the_first() -> None:
    assert numbers("Adam Wilson", "Eve Wilson", "Wilson") == [1, 2, 1]


def test_other_kinds_need_equal_texts() -> None:
    assert numbers("Boston", "South Boston", "BOSTON", kind=Kind.CITY) == [1, 2, 1]
    assert numbers("12-3", "123", kind=Kind.ID) == [1, 2]


def test_each_label_has_its_own_numbers() -> None:
    found = numbered([Mention(0, 3, "A", Kind.NAME, "Ann"), Mention(5, 8, "B", Kind.NAME, "Ann")])
    assert set(found.values()) == {1}


def test_a_title_alone_is_an_entity_too() -> None:
    assert numbers("Dr.", "Dr. Chang") == [1, 2]
