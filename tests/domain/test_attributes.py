"""Definitions of attributes, attributes that fit them, votes, and their place in brat's files and in hashes."""

import pytest

from annotations.domain.attributes import (
    AttributeDef,
    AttributeDefError,
    as_data,
    as_lines,
    definitions_in,
    definitions_of,
    fitting,
    is_tied,
    joined,
    united,
    voted,
    with_value,
)
from annotations.domain.formats.brat_config import annotation_conf
from annotations.domain.hashing import gold_hash
from annotations.domain.labels import CategoryDef, LabelDef, LabelSetDef, LabelSetError, parse_label_set

FAMILY, STATUS = AttributeDef("Family"), AttributeDef("Status", ("current", "past"))


def test_definitions_as_lines_and_as_data() -> None:
    assert definitions_in("Family\n\n Status:  current | past \n") == (FAMILY, STATUS)
    assert definitions_in(as_lines([FAMILY, STATUS])) == (FAMILY, STATUS)
    assert definitions_of(as_data([FAMILY, STATUS])) == (FAMILY, STATUS)
    assert as_data([FAMILY, STATUS]) == [{"name": "Family"}, {"name": "Status", "values": ["current", "past"]}]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("Family member", "only A-Z"),
        ("Status:", "value"),
        ("Status: a | a", "same value twice"),
        ("A\na", "occurs twice"),
        ("\n".join(f"a{n}" for n in range(21)), "at most 20"),
        ("Status: " + "x" * 61, "60 characters"),
        ("-", "letter or"),
    ],
)
def test_definitions_that_are_refused(lines: str, words: str) -> None:
    with pytest.raises(AttributeDefError, match=words):
        definitions_in(lines)


@pytest.mark.parametrize(
    "data", [{}, [1], [{"values": []}], [{"name": 1}], [{"name": "A", "values": [1]}], [{"n": "A"}]]
)
def test_data_that_is_refused(data: object) -> None:
    with pytest.raises(AttributeDefError):
        definitions_of(data)


@pytest.mark.parametrize(
    ("given", "kept", "others"),
    [
        ((("Family", True), ("Status", "past")), (("Family", True), ("Status", "past")), []),
        ((("family", "true"), ("status", "PAST")), (("Family", True), ("Status", "past")), []),
        ((("Status", "future"),), (), ["Status"]),
        ((("Status", True), ("Family", "no"), ("Other", True)), (), ["Status", "Family", "Other"]),
    ],
)
def test_attributes_that_fit(given: tuple, kept: tuple, others: list[str]) -> None:
    assert fitting(given, [FAMILY, STATUS]) == (kept, others)


def test_two_labels_together() -> None:
    other = AttributeDef("status", ("past", "unknown"))
    assert joined([FAMILY, STATUS], [other, AttributeDef("X")]) == (
        FAMILY,
        AttributeDef("Status", ("current", "past", "unknown")),
        AttributeDef("X"),
    )


def test_more_than_half_decides() -> None:
    votes = [(("F", True), ("S", "a")), (("F", True), ("S", "b")), (("S", "c"),)]
    assert voted(votes) == (("F", True),)
    assert voted(votes[:2]) == (("F", True),)
    assert voted([(("F", True),), ()]) == ()


def label_set(attributes: object) -> dict[str, object]:
    return {
        "key": "k", "name": "K", "categories": [{"name": "C", "labels": [{"name": "L", "attributes": attributes}]}],
    }  # fmt: skip


def test_a_label_set_has_attributes() -> None:
    (label,) = parse_label_set(label_set([{"name": "Status", "values": ["current", "past"]}])).labels()
    assert label.attributes == (STATUS,)
    with pytest.raises(LabelSetError, match=r"label 1 \(L\): The name “a b”"):
        parse_label_set(label_set([{"name": "a b"}]))


def test_the_hash_of_spans_without_attributes_stays() -> None:
    without = gold_hash([("a", "h", [(0, 5, "NAME")])])
    # As computed before spans had attributes.
    assert without == "9b237807e39766f0a620170fcc64a925d62acbc60a91d178277a44a97776f43b"
    assert gold_hash([("a", "h", [(0, 5, "NAME", (("F", True),))])]) != without


PAST, CURRENT, KIN = ("Status", "past"), ("Status", "current"), ("Family", True)


@pytest.mark.parametrize(
    ("votes", "tied"),
    [
        ([(PAST,), (PAST,)], False),
        ([(PAST,), ()], True),
        ([(PAST,), (PAST,), ()], False),
        ([(PAST,), (), ()], False),  # most say that it has none
        ([(PAST,), (CURRENT,), ()], True),
        ([(KIN, PAST), (KIN, CURRENT)], True),
        ([], False),
    ],
)
def test_ties(votes: list[tuple[tuple[str, str | bool], ...]], tied: bool) -> None:
    assert is_tied(votes) is tied


def test_attributes_of_several_and_changed_ones() -> None:
    assert united([(PAST,), (KIN, CURRENT), ()]) == ((KIN, PAST), ["Status"])
    assert with_value((PAST,), "Family", True) == (KIN, PAST)
    assert with_value((KIN, PAST), "Family", None) == (PAST,)


# ── brat ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_attributes_of_brats_configuration() -> None:
    labels = (LabelDef("A", "A", attributes=(FAMILY, STATUS)), LabelDef("B", "B", attributes=(STATUS,)))
    found = annotation_conf(LabelSetDef("k", "K", "", "", (), (CategoryDef("C", "C", labels),)))
    assert found.endswith("[attributes]\nFamily\tArg:A\nStatus\tArg:A|B, Value:current|past\n")
