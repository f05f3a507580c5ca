"""Stored figures of agreement are found again while nothing changes, and are never out of date."""

import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from annotations.agreement.rules.units import ComparedUnit, Granularity
from annotations.agreement.selectors import figures as figure_selectors
from annotations.agreement.selectors.figures import content_key, shared_annotation_sets, shared_notes
from annotations.agreement.services import figures as service
from annotations.agreement.services.figures import NoteTable, figures_of, kept_figures, named_notes
from annotations.annotate.services.annotation_set import reopen, submit
from annotations.core.services import Canceled, ServiceError
from annotations.models import Amendment, AnnotationSet, AnnotationSetState, Category, Figures, Label
from annotations.projects.services.labels import merge_labels, update_label
from tests import factories as make
from tests.held import made_once

TOKEN = ComparedUnit.TOKEN


def build_project():
    project = make.make_project("p")
    people = [make.make_member(project, user=name) for name in ("anna", "bruno")]
    for number in range(3):
        note = make.make_note(project, annotators=people, name=f"n{number}")
        for person in people:
            spans = [(0, 11, "PATIENT"), (13, 15, "AGE")][: 1 + (number + person.pk) % 2]
            make.make_set(note, person, spans, submitted=True, submitted_at=timezone.now())
    return project


made, project = made_once(build_project)


def alpha(found, granularity="subcategory"):
    return found["granularities"][granularity]["alpha"]["value"]


def one_annotation_set(project):
    return AnnotationSet.objects.filter(document__project=project).select_related("document", "author__user").first()


def test_kept_and_found_again(project, monkeypatch):
    assert kept_figures(project, TOKEN) is None
    made = figures_of(project=project, unit=TOKEN)
    monkeypatch.setattr(service, "figures", None)
    assert figures_of(project=project, unit=TOKEN) == made == kept_figures(project, TOKEN)
    table = NoteTable(project, made, Granularity.BIO)
    assert {row["note"] for row in named_notes(project, table[:])} == set(shared_notes(project))
    assert kept_figures(project, ComparedUnit.ENTITY) is None, "of another unit"


@pytest.mark.both_databases
def test_a_set_that_was_reopened_changed_and_submitted_again(project):
    """At every step the figures are those of the current annotations."""
    before = figures_of(project=project, unit=TOKEN)
    annotation_set = one_annotation_set(project)
    reopen(document=annotation_set.document, user=annotation_set.author.user)
    assert kept_figures(project, TOKEN) is None
    assert figures_of(project=project, unit=TOKEN)["notes"] == before["notes"] - 1
    make.make_span(annotation_set, 39, 45, "CITY")
    submit(document=annotation_set.document, user=annotation_set.author.user)
    assert kept_figures(project, TOKEN) is None
    after = figures_of(project=project, unit=TOKEN)
    assert after["notes"] == before["notes"]
    assert alpha(after) != alpha(before)


@pytest.mark.both_databases
def test_what_else_changes_the_figures(project):
    """Merged labels, moved labels, amendments; a new name or key doesn't."""
    keys = [content_key(project, TOKEN)]

    def changed():
        keys.append(content_key(project, TOKEN))
        return keys[-1] != keys[-2]

    label, other = make.label_of(project, "AGE"), make.label_of(project, "DATE")
    update_label(label=label, actor=None, name="Years")
    assert not changed()
    merge_labels(source=label, target=other, actor=None)
    assert changed()
    Label.objects.filter(pk=other.pk).update(category=Category.objects.filter(label_set__project=project).last())
    assert changed()
    Amendment.objects.create(project=project, number=1, text="x", guidelines_version=1, at=timezone.now())
    assert changed()
    AnnotationSet.objects.filter(pk=one_annotation_set(project).pk).update(seeded=True)
    assert changed()
    make.make_set(make.make_note(project), make.make_member(project), [], submitted=True)
    assert changed()
    assert len(set(keys)) == len(keys) - 1


def test_what_changes_while_it_is_counted_is_counted_again(project, monkeypatch):
    """An annotator reopens a note after the first batch was read."""
    read = figure_selectors.shared_annotation_sets

    def meanwhile(*args):
        yield from read(*args)
        annotation_set = one_annotation_set(project)
        if annotation_set.state == AnnotationSetState.SUBMITTED:
            reopen(document=annotation_set.document, user=annotation_set.author.user)

    monkeypatch.setattr(figure_selectors, "shared_annotation_sets", meanwhile)
    assert figures_of(project=project, unit=TOKEN)["notes"] == 2
    assert kept_figures(project, TOKEN)["notes"] == 2


def test_progress_is_told_and_can_stop_it(project):
    told = []
    figures_of(project=project, unit=TOKEN, progress=lambda done, total: told.append((done, total)))
    # All notes are read by then; progress is still reported while the intervals are computed.
    assert told[:2] == [(0, 3), (3, 3)]
    assert len(told) > 2 and set(told[2:]) == {(3, 3)}
    for stop_at in (0, len(told) - 1):
        calls = iter(range(len(told)))

        def stop(done, total, calls=calls, stop_at=stop_at):
            if next(calls) == stop_at:
                raise Canceled

        with pytest.raises(Canceled):
            figures_of(project=project, unit=ComparedUnit.MARKED, progress=stop)
        assert kept_figures(project, ComparedUnit.MARKED) is None


def test_it_gives_up_when_sets_keep_changing(project, monkeypatch):
    monkeypatch.setattr(figure_selectors, "content_key", lambda *_: uuid.uuid4().hex)
    with pytest.raises(ServiceError, match="Annotations changed"):
        figures_of(project=project, unit=TOKEN)
    assert not Figures.objects.exists()


@pytest.mark.both_databases
def test_a_note_is_of_the_round_of_its_last_set(project):
    now = timezone.now()
    for number, days in enumerate((10, 5), 1):
        Amendment.objects.create(
            project=project, number=number, text="x", guidelines_version=number, at=now - timedelta(days=days)
        )
    first, second, third = shared_notes(project)
    AnnotationSet.objects.filter(document=first).update(submitted_at=now - timedelta(days=11))
    AnnotationSet.objects.filter(document=second).update(submitted_at=now - timedelta(days=10))
    AnnotationSet.objects.filter(document=third, author__name="anna").update(submitted_at=now - timedelta(days=12))
    [batch] = shared_annotation_sets(project, [first, second, third])
    assert [(note.note, note.round, note.mixed) for note in batch] == [
        (first, 1, False),
        (second, 2, False),  # at the moment of the amendment: after it
        (third, 3, True),
    ]
