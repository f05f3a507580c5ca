"""Gold: made by a reviewer, provenance, frozen versions, export, erasure."""

import pytest

from annotations.core.services import ServiceError, silent
from annotations.exchange.services import exporting
from annotations.gold.events import GOLD_MADE, GOLD_WITHDRAWN
from annotations.gold.services import making as gold
from annotations.gold.services import splitting as services_sets
from annotations.gold.services.making import freeze
from annotations.models import AnnotationSet, Event, Label, Role, Span
from annotations.projects.services.labels import merge_labels
from tests import factories as make
from tests.factories import make_author, make_member, make_note, make_project, make_set
from tests.worlds.beside import Beside
from tests.worlds.commands import answered

pytestmark = [pytest.mark.django_db]
SPANS = [(0, 11, "PATIENT"), (43, 49, "CITY")]


@pytest.fixture
def project():
    return make_project()


@pytest.fixture
def reviewer(project):
    return make_member(project, Role.REVIEWER, "rita")


def annotation_set(project, spans=SPANS, *, submitted=True, name="anna", note=None):
    note = note or make_note(project)
    return make_set(note, make_author(project, name=name), spans, submitted=submitted)


def gold_spans():
    return sorted(Span.objects.filter(annotation_set__author__kind="gold").values_list("start", "end", "label__code"))


def test_every_gold_span_records_its_origin(project, reviewer):
    """Making the same gold again changes nothing, and a draft does not become gold."""
    source = annotation_set(project)
    for _ in range(2):
        made = gold.make_gold(document=source.document, annotation_set=source, actor=reviewer)
    assert gold_spans() == SPANS and Event.objects.filter(verb=GOLD_MADE).count() == 1
    for span in made.spans.all():
        how = span.provenance
        assert (how["from"], how["by"], how["set"]) == ("annotator:anna", "rita", source.pk) and how["at"]
    draft = annotation_set(project, submitted=False)
    with pytest.raises(ServiceError, match="still a draft"):
        gold.make_gold(document=draft.document, annotation_set=draft, actor=reviewer)
    gold.withdraw_gold(document=source.document, actor=reviewer)
    assert not gold_spans()
    assert len(Event.objects.get(verb=GOLD_WITHDRAWN).data["removed"]) == 2


def test_other_gold_is_replaced_only_explicitly_and_the_event_keeps_it(project, reviewer):
    first = annotation_set(project)
    second = annotation_set(project, [(0, 5, "PATIENT")], name="bruno", note=first.document)
    gold.make_gold(document=first.document, annotation_set=first, actor=reviewer)
    with pytest.raises(ServiceError, match="Replace the gold explicitly"):
        gold.make_gold(document=first.document, annotation_set=second, actor=reviewer)
    assert gold_spans() == SPANS
    gold.make_gold(document=first.document, annotation_set=second, actor=reviewer, replace=True)
    assert gold_spans() == [(0, 5, "PATIENT")]
    assert len(Event.objects.filter(verb=GOLD_MADE).last().data["removed"]) == 2


def test_bulk_makes_gold_only_in_notes_without_gold(project, reviewer):
    first = annotation_set(project)
    annotation_set(project, note=make_note(project, "another text here", name="b"), spans=[(0, 7, "DATE")])
    other = annotation_set(project, [(0, 5, "PATIENT")], name="bruno", note=first.document)
    gold.make_gold(document=first.document, annotation_set=other, actor=reviewer)
    result = gold.make_gold_bulk(
        project_id=project.pk, author_id=first.author_id, actor_id=reviewer.pk, progress=silent
    )
    assert (result["made"], result["kept"]) == (1, 1)
    assert gold_spans() == [(0, 5, "PATIENT"), (0, 7, "DATE")]


def test_a_model_run_does_not_become_gold_in_bulk(project, reviewer):
    """Nothing becomes gold without a person's decision: a run is reviewed, or made gold note by note."""
    run = make_author(project, kind="run", name="rules-1")
    source = make_set(make_note(project), run, SPANS, submitted=True)
    with pytest.raises(ServiceError, match="can't become gold in bulk"):
        gold.make_gold_bulk(project_id=project.pk, author_id=run.pk, actor_id=reviewer.pk, progress=silent)
    assert not gold_spans()
    gold.make_gold(document=source.document, annotation_set=source, actor=reviewer)
    assert gold_spans() == SPANS


# ── Export ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def exported(project, tmp_path, spec, format="brat"):
    return exporting.export_to_path(project=project, out=tmp_path / "out", format=format, set_spec=spec)


def test_drafts_are_left_out_and_counted(project, tmp_path):
    annotation_set(project)
    annotation_set(project, submitted=False, note=make_note(project, "other", name="b"), spans=[])
    report = exported(project, tmp_path, "annotator:anna")
    assert (report["notes"], report["drafts_left_out"]) == (1, 1)
    with pytest.raises(ServiceError, match="not an empty folder"):
        exported(project, tmp_path, "annotator:anna")
    run = make_author(project, kind="run", name="rules")
    make_set(make_note(project), run, SPANS, submitted=True)
    for spec in ("run:rules", f"run:{run.pk}"):
        assert services_sets.wanted_set(project, spec).author == run


def test_a_failed_export_leaves_no_incomplete_file(project, tmp_path, monkeypatch):
    annotation_set(project)

    def fail(*args, **kwargs):
        yield "a.txt", b"x"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(exporting, "export_files", fail)
    with pytest.raises(ServiceError, match="Nothing was written"):
        exported(project, tmp_path, "annotator:anna")
    assert list(tmp_path.iterdir()) == []


def test_a_frozen_version_keeps_a_label_that_was_merged_later(project, reviewer):
    note = make_note(project)
    gold.make_gold(document=note, annotation_set=annotation_set(project, note=note), actor=reviewer)
    gold.freeze(project=project, actor=reviewer)
    labels = {label.code: label for label in Label.objects.filter(label_set__project=project)}
    merge_labels(source=labels["CITY"], target=labels["PATIENT"], actor=reviewer)
    for spec, there in (("gold:1", True), ("gold", False)):
        wanted = services_sets.wanted_set(project, spec)
        files = dict(exporting.export_files(project, wanted, "brat", exporting.ExportReport(set=spec, format="brat")))
        assert (b"\nCITY\n" in files["annotation.conf"].replace(b"\t", b"")) is there
        assert (b"\tCITY " in files[f"{note.name}.ann"]) is there


# The command that removes the gold of notes


@pytest.fixture
def withdrawn(db):
    found = make.make_project("covid")
    for role in ("reviewer", "annotator"):
        make.make_member(found, role, role)
    gold = make.make_author(found, kind="gold", name="gold")
    for name in ("one", "two"):
        make.make_set(make.make_note(found, name=name), gold, [(0, 11, "PATIENT")], submitted=True)
    make.make_note(found, name="bare")
    return found


def withdraw(*words):
    return answered("withdraw_gold", "covid", *words)


def test_gold_is_removed_and_frozen_versions_keep_it(withdrawn):
    version, _new = freeze(project=withdrawn, actor=None)
    assert withdraw("one", "--by", "reviewer") == {"withdrawn": ["one"]}
    assert [one.document.name for one in AnnotationSet.objects.filter(author__kind="gold")] == ["two"]
    assert version.notes.count() == 2
    event = Event.objects.get(verb="gold.withdrawn")
    assert event.actor.username == "reviewer" and len(event.data["removed"]) == 1


def test_all_notes_or_none(withdrawn):
    for words, code in (
        (("one", "bare", "--by", "reviewer"), "none"), (("one", "nowhere", "--by", "reviewer"), "note"),
        (("one",), "by"), (("one", "--by", "annotator"), "access"),
    ):  # fmt: skip
        assert withdraw(*words) == code
    assert AnnotationSet.objects.count() == 2 and not Event.objects.exists()


# ── While a label is merged ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("in_bulk", [False, True])
def test_gold_that_is_made_while_a_label_is_merged_never_keeps_the_merged_label(monkeypatch, in_bulk):
    """Neither of the two fails."""
    project = make_project()
    source = annotation_set(project, SPANS[1:])
    labels = {label.code: label for label in Label.objects.filter(label_set__project=project)}
    merge = Beside(lambda: merge_labels(source=labels["CITY"], target=labels["PATIENT"], actor=None))
    merge.begin_before(monkeypatch, gold, "gold_author")
    if in_bulk:
        known = {"project_id": project.pk, "author_id": source.author_id, "actor_id": None, "progress": silent}
        assert gold.make_gold_bulk(**known)["made"] == 1
    else:
        gold.make_gold(document=source.document, annotation_set=source, actor=make_member(project, Role.REVIEWER))
    merge.join()
    assert merge.error is None and gold_spans() == [(43, 49, "PATIENT")]
    assert not Span.objects.filter(label=labels["CITY"]).exists()
