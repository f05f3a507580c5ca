"""Scores by the API: the authors, the figures, the errors with their causes, and what stays hidden."""

import pytest

from annotations.core.services import NOTE_READ, ServiceError
from annotations.models import Event, Review
from annotations.scores.services.choices import chosen_types, labels_of, threshold_of, type_groups
from tests import factories as make
from tests.worlds.programs import Program

SCORES = "/projects/covid/scores"


@pytest.fixture
def scored(world):
    """Gold with two spans, of which a run found one, and one with other bounds."""
    make.make_set(world.note, "gold", [(0, 11, "PATIENT"), (44, 50, "CITY")])
    world.run = make.make_author(world.project, kind="run", name="rules-1")
    make.make_set(world.note, world.run, [(0, 11, "PATIENT"), (42, 50, "CITY")], submitted=True)
    return world


def test_a_score_and_its_errors(scored):
    viewer, reviewer = Program(scored.vic), Program(scored.rev)
    listed = viewer.get(SCORES).json()
    assert (listed["version"], [(one["name"], one["shared"]) for one in listed["items"]]) == (0, [("rules-1", 1)])
    own = f"{SCORES}/0/{scored.run.pk}"
    figures = viewer.get(f"{own}?threshold=0.9").json()["figures"]
    assert figures["levels"][0]["micro"]["f1"] == 0.5
    masked = {row["label"]: row["fully_masked"]["all_found"] for row in figures["labels"]}
    assert masked == {"PATIENT": 1, "CITY": 1}, "the city is covered, although its bounds are wrong"
    assert (figures["masking_threshold"], figures["notes_learned_from"]) == (None, 0)
    (error,) = viewer.get(f"{own}/errors?kind=boundary").json()["items"]
    assert (error["gold"], error["predicted"]["start"]) == ({"start": 44, "end": 50, "label": "CITY"}, 42)
    assert Event.objects.get(verb=NOTE_READ).document_id == scored.note.pk
    assert viewer.get(f"{own}/errors?kind=missed").json()["items"] == []
    cause = {"error": error["error"], "cause": "AM"}
    assert viewer.post(f"{own}/errors/causes", cause).status_code == 403
    assert reviewer.post(f"{own}/errors/causes", cause).json() == {"causes": ["AM"]}
    assert viewer.get(f"{own}/errors?cause=AM").json()["items"][0]["causes"] == ["AM"]
    assert reviewer.post(f"{own}/errors/causes", cause | {"present": False}).json() == {"causes": []}
    lines = b"".join(reviewer.get(f"{own}/errors/csv").streaming_content).splitlines()
    assert (len(lines), lines[1].split(b",")[2]) == (2, b'"boundary"')
    job = viewer.post(f"{own}/jobs", {"tokenizer": ""})
    assert (job.status_code, job.json()["kind"]) == (202, "score")


def test_unknown_choices_are_named(scored):
    for field in ("split", "into", "types", "language"):
        answer = Program(scored.vic).get(f"{SCORES}/0/{scored.run.pk}?{field}=xx")
        assert (answer.status_code, [one["field"] for one in answer.json()["errors"]]) == (422, [field])


def test_a_run_can_t_be_scored_while_its_planted_leaks_are_hidden(scored):
    Review.objects.create(document=scored.note, author=scored.run, planted_share=100)
    assert Program(scored.rev).get(f"{SCORES}/0/{scored.run.pk}").status_code == 404
    assert Program(scored.rev).get(SCORES).json()["items"] == []
    assert Program(scored.mia).get(f"{SCORES}/0/{scored.run.pk}").status_code == 200


# Choices for a score: codes of labels and categories, and the similarity with tolerance


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
