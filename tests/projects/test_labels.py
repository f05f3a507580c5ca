"""Labels in use: rename, merge, and preview of a merge."""

import pytest

from annotations.core.errors import ServiceError
from annotations.gold.services.making import freeze
from annotations.models import Event, Label, Role, Span
from annotations.projects.events import LABEL_CHANGED
from annotations.projects.services import labels
from annotations.projects.services.projects import create_project, shipped_label_sets
from tests.factories import label_of, make_author, make_member, make_note, make_project, make_set

pytestmark = pytest.mark.django_db


def test_every_shipped_set_becomes_a_project():
    for key, definition in shipped_label_sets().items():
        project = create_project(name=f"With {key}", label_set_key=key)
        assert project.label_set.labels.count() == len(list(definition.labels()))


def test_the_default_set_comes_first():
    assert next(iter(shipped_label_sets())) == "i2b2-2014"


def test_unknown_label_set_names_the_choices():
    with pytest.raises(ServiceError, match="i2b2-2014"):
        create_project(name="x", label_set_key="nothing")


def test_two_projects_can_not_have_the_same_short_name():
    create_project(name="Ward 3", label_set_key="it-4")
    with pytest.raises(ServiceError, match="already exists"):
        create_project(name="ward-3", label_set_key="it-4")


def test_renaming_keeps_the_code_and_the_spans():
    project = make_project()
    annotation_set = make_set(make_note(project), make_member(project), [(0, 5, "DOCTOR")])
    labels.update_label(label=label_of(project, "DOCTOR"), actor=None, name="PHYSICIAN")
    span = annotation_set.spans.get()
    assert (span.label.code, span.label.name) == ("DOCTOR", "PHYSICIAN")
    assert Event.objects.get(verb=LABEL_CHANGED).data["before"] == {"name": "DOCTOR"}


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"name": "PATIENT"}, "already"),
        ({"hotkey": "1"}, "already"),
        ({"hotkey": "n"}, "reserved by the program"),
        ({"name": " "}, "Enter a"),
    ],
)
def test_impossible_changes_are_refused_and_nothing_changes(change, word):
    project = make_project()
    label = label_of(project, "DOCTOR")
    with pytest.raises(ServiceError, match=word):
        labels.update_label(label=label, actor=None, **change)
    assert (Label.objects.get(pk=label.pk).name, Label.objects.get(pk=label.pk).hotkey) == ("DOCTOR", "2")


def test_merging_moves_spans_drops_duplicates_and_keeps_frozen_gold():
    project = make_project()
    note = make_note(project)
    make_set(note, make_member(project), [(0, 5, "DOCTOR"), (0, 5, "PATIENT"), (6, 11, "DOCTOR")])
    gold = make_author(project, kind="gold", name="gold")
    make_set(note, gold, [(0, 11, "DOCTOR")], submitted=True)
    version, _ = freeze(project=project, actor=None)
    source, target = label_of(project, "DOCTOR"), label_of(project, "PATIENT")

    preview = labels.merge_preview(source=source, target=target)
    assert (preview["spans"], preview["notes"], preview["already_there"]) == (3, 1, 1)
    assert labels.merge_labels(source=source, target=target, actor=None) == preview

    assert sorted(Span.objects.values_list("start", "end", "label__code")) == [
        (0, 5, "PATIENT"),
        (0, 11, "PATIENT"),
        (6, 11, "PATIENT"),
    ]
    assert version.notes.get().spans[0][2] == "DOCTOR"
    again, new = freeze(project=project, actor=None)
    assert new
    assert again.number == 2


def test_a_merged_label_frees_its_name_and_key():
    project = make_project()
    source, target = label_of(project, "DOCTOR"), label_of(project, "PATIENT")
    labels.merge_labels(source=source, target=target, actor=None)
    labels.update_label(label=target, actor=None, name="DOCTOR", hotkey="2")
    with pytest.raises(ServiceError, match="already merged"):
        labels.merge_labels(source=source, target=label_of(project, "CITY"), actor=None)


def test_labels_of_two_projects_do_not_merge():
    with pytest.raises(ServiceError, match="different projects"):
        labels.merge_preview(source=label_of(make_project(), "DOCTOR"), target=label_of(make_project(), "DOCTOR"))


def test_a_new_label_gets_an_ascii_code():
    project = make_project()
    make_member(project, Role.MANAGER)
    label = labels.add_label(
        label_set=project.label_set, category=project.label_set.categories.first(), name="ETÀ", actor=None
    )
    assert (label.code, label.placeholder) == ("ETA", "[ETÀ]")


def test_a_name_without_a_letter_gives_no_code():
    project = make_project()
    with pytest.raises(ServiceError, match="at least one letter or digit"):
        labels.add_label(
            label_set=project.label_set, category=project.label_set.categories.first(), name="///", actor=None
        )
