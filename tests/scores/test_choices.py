"""Choices for a score: codes of labels and categories, and the similarity with tolerance."""

import pytest

from annotations.core.errors import ServiceError
from annotations.scores.services.choices import chosen_types, labels_of, threshold_of, type_groups

# LOCATION is a category and one of its labels, as in the label set redactor-33. The category DATE has only this label.
CATEGORY = {"PATIENT": "NAME", "DOCTOR": "NAME", "LOCATION": "LOCATION", "ADDRESS": "LOCATION", "DATE": "DATE"}


def test_labels_and_categories():
    for given, labels in (
        (["PATIENT"], ["PATIENT"]), (["NAME"], ["PATIENT", "DOCTOR"]), (["DATE", "label:DATE"], ["DATE"]),
        (["category:DATE"], ["DATE"]), (["label:LOCATION"], ["LOCATION"]), ([], []),
        (["category:LOCATION", "DOCTOR"], ["DOCTOR", "LOCATION", "ADDRESS"]),
    ):  # fmt: skip
        assert labels_of(chosen_types(given, CATEGORY), CATEGORY) == labels
    assert chosen_types(["DATE", "NAME", "DATE"], CATEGORY) == chosen_types(["NAME", "DATE"], CATEGORY)


@pytest.mark.parametrize(
    "value, reason",
    [
        ("LOCATION", "“LOCATION” is a label and a category. Write “label:LOCATION” or “category:LOCATION”"),
        ("label:NAME", "no label or category “label:NAME”. Categories: NAME, LOCATION, DATE. Labels: PATIENT"),
        ("kind:DATE", "no label or category “kind:DATE”"),
        ("label:label:DATE", "no label or category"),
        ("X" * 500, "no label or category “X{60}”"),
    ],
)
def test_unknown_types(value, reason):
    with pytest.raises(ServiceError, match=reason) as error:
        chosen_types([value], CATEGORY)
    assert error.value.code == "types"


@pytest.mark.parametrize(
    "word, value", [("", 0.6), ("0.6", 0.6), (".75", 0.75), ("0", 0.0), ("0.0", 0.0), ("1", 1.0), ("1.0", 1.0)]
)
def test_similarities(word, value):
    assert threshold_of(word) == value


@pytest.mark.parametrize("word", ["1.1", "-0.1", "0,6", "1e-1", "٠.٦", "nan", "0.12345", "6", "."])
def test_values_that_are_no_similarity(word):
    with pytest.raises(ServiceError, match="must be a number from 0 to 1") as error:
        threshold_of(word)
    assert error.value.code == "threshold"


def test_what_can_be_chosen():
    groups = type_groups(CATEGORY, {"NAME": "Names"}, {"PATIENT": "Patient"}, ["category:NAME", "label:DATE"])
    assert [[(one.value, one.name, one.chosen) for one in group] for group in groups] == [
        [("category:NAME", "Names", True), ("label:PATIENT", "Patient", False), ("label:DOCTOR", "DOCTOR", False)],
        [(f"{kind}:{name}", name, False) for kind, name in
         (("category", "LOCATION"), ("label", "LOCATION"), ("label", "ADDRESS"))],
        [("label:DATE", "DATE", True)],
    ]  # fmt: skip
    assert [one.is_category for one in groups[0]] == [True, False, False]
