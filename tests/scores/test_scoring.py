"""Scores of stored annotations: which notes count, what is stored, and that stored figures are never stale."""

import pytest

from annotations.core import stored_figures as keeping
from annotations.core.services import ServiceError
from annotations.gold.services.making import freeze
from annotations.models import AnnotationSet, Author, Figures, GoldVersion, Label, Span
from annotations.ops.services.erasing import erase_patient
from annotations.projects.services.labels import merge_labels
from annotations.projects.services.projects import create_project
from annotations.scores import selectors
from annotations.scores.services import scoring
from annotations.scores.services.scoring import kept_score, score, score_errors, score_request
from tests import factories as make
from tests.held import made_once
from tests.worlds.commands import printed

pytestmark = pytest.mark.django_db
TEXT = "Mario Rossi, 54 anni, visto il 12/03/2021 a Torino."
ROSSI, AGE, CITY = (0, 11, "PATIENT"), (13, 15, "AGE"), (44, 50, "CITY")


def build_project():
    """Gold on three notes; the run annotated two of them, and another note without gold."""
    project = make.make_project("p")
    gold, run = (
        make.make_author(project, kind=kind, name=name) for kind, name in (("gold", "gold"), ("run", "rules-1"))
    )
    for number, spans in enumerate(([ROSSI, AGE, CITY], [ROSSI], [ROSSI])):
        note = make.make_note(project, TEXT, f"n{number}", patient_id=f"p{number}")
        make.make_set(note, gold, spans, submitted=True)
        if number < 2:
            make.make_set(note, run, [ROSSI, (13, 20, "AGE")], submitted=True)
    make.make_set(make.make_note(project, TEXT, "n3"), run, [ROSSI], submitted=True)
    return project


made, project = made_once(build_project)


def f1(project, **wanted):
    return score(score_request(project, author="rules-1", **({"version": 0} | wanted))).table


def test_which_notes_are_scored_and_which_are_excluded(project):
    table = f1(project)
    assert table["left_out"] == {"drafts": 0, "unread": 1, "no_gold": 1}
    about = table["gold"], table["author"], table["author_kind"], table["content_hash"], table["notes"]
    assert about == ("current", "rules-1", "run", None, 2)
    micro = table["levels"][0]["micro"]
    assert (micro["predicted"], micro["right"], micro["gold"]) == (4, 2, 4)
    AnnotationSet.objects.filter(author__kind="run", document__name="n1").update(state="draft", version=1)
    assert f1(project)["left_out"] == {"drafts": 1, "unread": 1, "no_gold": 1}


def test_gold_that_came_from_the_author_is_counted(project):
    assert f1(project)["own_gold_spans"] == 0
    gold = Span.objects.filter(annotation_set__author__kind="gold", annotation_set__document__name="n0")
    gold.update(provenance={"from": "run:rules-1"})
    AnnotationSet.objects.filter(author__kind="gold").update(version=3)
    assert f1(project)["own_gold_spans"] == 3
    freeze(project=project, actor=None)
    assert f1(project, version=1)["own_gold_spans"] == 3
    assert "3 gold spans were copied from" in printed("score", "p", "--gold", 1, "--author", "run:rules-1")


def test_a_version_is_scored_as_it_was_frozen(project):
    version, _ = freeze(project=project, actor=None)
    before = f1(project, version=1)
    assert before["content_hash"] == version.content_hash
    Span.objects.filter(annotation_set__author__kind="gold").delete()
    AnnotationSet.objects.filter(author__kind="gold").update(version=5)
    assert f1(project, version=1)["levels"] == before["levels"]
    assert f1(project)["levels"][0]["micro"]["gold"] == 0


def test_stored_figures_are_used_and_never_stale(project, django_assert_max_num_queries, monkeypatch):
    wanted = score_request(project, version=0, author="rules-1")
    assert kept_score(wanted) is None
    first = score(wanted)
    monkeypatch.setattr(selectors, "note_pairs", lambda *_: pytest.fail("computed again"))
    assert score(wanted).table == kept_score(wanted).table == first.table
    monkeypatch.undo()
    keys = {first.key}

    def changed() -> None:
        assert kept_score(wanted) is None
        found = score(wanted)
        assert found.key not in keys
        keys.add(found.key)

    annotation_set = AnnotationSet.objects.get(author__kind="run", document__name="n0")
    AnnotationSet.objects.filter(pk=annotation_set.pk).update(version=9)
    changed()
    AnnotationSet.objects.filter(author__kind="gold", document__name="n1").update(version=9)
    changed()
    AnnotationSet.objects.filter(author__kind="gold", document__name="n1").delete()
    changed()
    Label.objects.filter(code="AGE").update(category=Label.objects.get(code="CITY").category)
    changed()
    erase_patient(project=project, patient_id="p0", actor=None)
    changed()


def test_the_number_of_stored_scores_is_limited(project, monkeypatch):
    monkeypatch.setattr(keeping, "KEPT", 2)
    for version in range(4):
        AnnotationSet.objects.filter(author__kind="run").update(version=version)
        f1(project)
    assert Figures.objects.filter(kind="score").count() == 2
    assert Figures.objects.filter(kind="score-errors").count() == 2


def test_errors(project, monkeypatch):
    """The number of stored errors is limited, and all are counted."""
    wanted = score_request(project, version=0, author="rules-1")
    notes = list(project.documents.order_by("pk").values_list("pk", flat=True))
    assert score_errors(wanted) == [
        [notes[0], "boundary", [13, 15, "AGE"], [13, 20, "AGE"]],
        [notes[0], "missed", [44, 50, "CITY"], None],
        [notes[1], "spurious", None, [13, 20, "AGE"]],
    ]
    Figures.objects.all().delete()
    monkeypatch.setattr(scoring, "MOST_ERRORS", 1)
    assert len(score_errors(wanted)) == 1 and score(wanted).table["errors"] == 3
    kept = str(list(Figures.objects.values_list("value", flat=True)))
    assert "Mario" not in kept and "Torino" not in kept


def test_one_split(project):
    version, _ = freeze(project=project, actor=None)
    with pytest.raises(ServiceError, match="not split into train, dev and test"):
        score_request(project, version=1, author="rules-1", split="dev")
    GoldVersion.objects.filter(pk=version.pk).update(split_seed="s")
    version.notes.filter(document__name="n0").update(split="dev")
    version.notes.exclude(document__name="n0").update(split="train")
    assert f1(project, version=1, split="dev")["notes"] == 1
    assert f1(project, version=1, split="train")["left_out"] == {"drafts": 0, "unread": 1, "no_gold": 2}


def test_a_merged_label_counts_as_its_new_label(project):
    freeze(project=project, actor=None)
    source, target = Label.objects.get(code="CITY"), Label.objects.get(code="HOSPITAL")
    make.make_span(AnnotationSet.objects.get(author__kind="run", document__name="n0"), 44, 50, "CITY")
    merge_labels(source=source, target=target, actor=None)
    table = f1(project, version=1)
    (hospital,) = [label for label in table["labels"] if label["label"] == "HOSPITAL"]
    assert hospital["entity"]["f1"] == 1.0
    assert not [label for label in table["labels"] if label["label"] == "CITY"]


def label_set_project(key, spans):
    """A note in a project with this label set; `spans` of gold and of the run are (start, end, label code)."""
    project = create_project(name=key, label_set_key=key)
    note = make.make_note(project, TEXT, "n")
    labels = {label.code: label for label in Label.objects.filter(label_set__project=project)}
    for kind, some in zip(("gold", "run"), spans, strict=True):
        annotation_set = make.make_set(note, make.make_author(project, kind=kind, name=kind), submitted=True)
        for start, end, code in some:
            Span.objects.create(annotation_set=annotation_set, start=start, end=end, label=labels[code])
    return project


def meddocan():
    sex = (0, 5, "SEXO_SUJETO_ASISTENCIA")
    return label_set_project("meddocan", [[(44, 50, "CALLE"), sex], [(44, 50, "TERRITORIO"), sex]])


def mapped(project, into=""):
    return score(score_request(project, version=0, author="run", into=into)).table


def test_labels_of_another_label_set():
    project = meddocan()
    assert mapped(project)["levels"][0]["micro"]["right"] == 1
    table = mapped(project, "i2b2-2014")
    assert table["labels_of"] == "i2b2-2014"
    assert [label["label"] for label in table["labels"]] == ["CITY", "STREET"]
    assert table["spans_without_label"] == {"SEXO_SUJETO_ASISTENCIA": 2}
    assert (table["levels"][1]["micro"]["right"], table["levels"][0]["micro"]["right"]) == (1, 0)
    assert mapped(project, "hipaa-18")["levels"][0]["micro"]["f1"] == 1.0


def test_a_mapping_to_categories_has_no_finer_level():
    table = mapped(label_set_project("it-4", [[(0, 11, "NOME")]] * 2), "i2b2-2014")
    assert {level["granularity"] for level in table["levels"]} == {"category", "binary"}


def test_a_label_missing_from_the_mapping_is_an_error():
    project = meddocan()
    category = project.label_set.categories.first()
    Label.objects.create(label_set=project.label_set, category=category, code="ALIAS", name="Alias", position=99)
    with pytest.raises(ServiceError, match="lacks these labels: ALIAS"):
        mapped(project, "i2b2-2014")
    assert not Figures.objects.exists()


def test_impossible_requests(project):
    for wanted, says in (
        ({"author": "nobody"}, "no author “nobody”.*run:rules-1"),
        ({"author_id": 0}, "This author has no annotations"),
        ({"author": "gold"}, "no author"),
        ({"author": "rules-1", "version": 4}, "no gold version 4. Frozen versions: none yet"),
        ({"author": "rules-1", "into": "it-4"}, "no mapping from “test” to “it-4”"),
        ({"author": "rules-1", "split": "valid"}, "no split “valid”"),
    ):
        with pytest.raises(ServiceError, match=says):
            score_request(project, **({"version": 0} | wanted))


def test_authors_with_the_same_name_are_distinguished_by_kind(project):
    make.make_author(project, kind="refined", name="rules-1")
    with pytest.raises(ServiceError, match="Several authors"):
        score_request(project, version=0, author="rules-1")
    assert score_request(project, version=0, author="refined:rules-1").author == Author.objects.get(kind="refined")
    make.make_author(project, kind="adjudicated", name="Adjudicated")
    assert score_request(project, version=0, author="adjudicated").author.kind == "adjudicated"


def test_the_rewritten_text_is_counted_in_the_projects_placeholders(project):
    Label.objects.filter(label_set__project=project, code="DOCTOR").update(placeholder="[AGE]")
    run = Author.objects.get(project=project, kind="run")
    note = make.make_note(project, "[PATIENT] sente Mario Rossi e Rossi, 54 anni, 54 mg.", "n4")
    make.make_set(note, Author.objects.get(kind="gold"), [(16, 27, "PATIENT"), (30, 35, "PATIENT"), (37, 39, "AGE")],
                  submitted=True)  # fmt: skip
    make.make_set(note, run, [(16, 27, "PATIENT"), (37, 39, "AGE"), (46, 48, "DOCTOR")], submitted=True)
    counted = f1(project)["rewritten"]
    rows = {row["label"]: [row[key] for key in ("tp", "fn", "fp", "gold", "unmarked")] for row in counted["labels"]}
    # Of the last note's two 54, gold marks one, and both were hidden behind [AGE], which the first label that has it
    # answers for; so it does for the age of the second note, which gold doesn't mark. The first note's town is left.
    assert rows == {
        "PATIENT": [3, 1, 0, 4, 0], "DOCTOR": [0, 0, 2, 0, 0], "AGE": [3, 0, 0, 2, 1], "CITY": [0, 1, 0, 1, 0]
    }  # fmt: skip
    assert (counted["micro"]["precision"], counted["micro"]["recall"]) == (6 / 8, 6 / 8)


def test_languages_are_looked_for_again_only_where_notes_came_or_went(project, django_assert_num_queries):
    more = [make.make_note(project, TEXT, name, language=name) for name in ("aa", "zz")]
    assert selectors.note_languages(project) == ["aa", "zz"]
    with django_assert_num_queries(2):
        selectors.note_languages(project)
    more[0].delete()
    assert selectors.note_languages(project) == ["zz"]
    make.make_note(project, TEXT, "again", language="aa")
    assert selectors.note_languages(project) == ["aa", "zz"]
