"""Import as a job: preview, batches, and that no partial import remains."""

import pytest

from annotations import models
from annotations.core import suggestions
from annotations.core.services import Canceled, silent
from annotations.exchange.services import import_plan, importing, reading, staged
from annotations.projects.services.labels import merge_labels
from tests.exchange.brat_files import ANN, TEXT, Killed, brat, many, run_until, spans_of, stage, zipped
from tests.factories import make_member, make_project, make_set

pytestmark = pytest.mark.django_db


@pytest.fixture
def project(db):
    return make_project()


def test_leaks_are_planted_in_imported_suggestions_and_removed_with_them(monkeypatch):
    monkeypatch.setattr("annotations.review.rules.planting.chance", lambda *about: 0.0)
    monkeypatch.setattr(reading, "BATCH", 2)
    project = make_project(planted_share=10)
    files = [file for name in "abcd" for file in brat(name, f"{TEXT}{name}")]
    importing.import_files(project=project, files=files, format="brat", written_as="gold")
    assert not models.Review.objects.exists(), "gold is no suggestion"
    models.AnnotationSet.objects.all().delete()

    def stop(done, total):
        if done:
            assert models.PlantedLeak.objects.filter(result="", known="string").count() == done
            # One of the two suggestions on each note is hidden, and hidden suggestions are not counted.
            assert sum(models.SuggestedString.objects.values_list("count", flat=True)) == done
        if done == 4:
            raise Canceled

    row = stage(project, zipped(*files), format="brat", written_as="run:rules")
    with pytest.raises(Canceled):
        importing.run_import(import_id=row.pk, progress=stop)
    run = models.Author.objects.get(kind="run")
    assert set(models.Review.objects.values_list("author", "planted_share", "ahead")) == {(run.pk, 10, True)}
    assert suggestions.withheld(project)
    importing.undo_import(import_id=row.pk)
    assert (
        not models.Review.objects.exists()
        and not models.PlantedLeak.objects.exists()
        and not models.SuggestedString.objects.exists()
    )
    assert not suggestions.withheld(project)
    report = importing.import_files(project=project, files=files, format="brat", written_as="run:rules")
    assert (report["sets"], models.PlantedLeak.objects.count()) == (4, 4)


def test_the_job_ends_with_the_last_transaction_and_before_the_upload_is_deleted(project):
    row = stage(project, zipped(*brat()))

    def lose(report):
        assert models.StoredFile.objects.exists(), "deleting the upload doesn't delay the end"
        raise Killed

    with pytest.raises(Killed):
        importing.run_import(import_id=row.pk, progress=silent, finish=lose)
    assert models.Import.objects.get().state == models.ImportState.RUNNING, (
        "a worker without its lease doesn't end the import"
    )
    finished = []
    report = importing.run_import(import_id=row.pk, progress=silent, finish=finished.append)
    assert finished == [report] and (report["notes"], report["spans"]) == (1, 2)
    assert not models.StoredFile.objects.exists()
    assert importing.run_import(import_id=row.pk, progress=silent) == report, "a further run changes nothing"
    assert models.Document.objects.count() == 1


def test_long_notes_make_small_batches(project, monkeypatch):
    """A small zip can hold gigabytes, which neither the preview nor the import may load at once."""
    monkeypatch.setattr(reading, "BATCH_CHARACTERS", 100)
    sizes = []
    plan_notes = import_plan.plan_notes

    def watched(context, parsed, seen):
        sizes.append(len(parsed))
        return plan_notes(context, parsed, seen)

    monkeypatch.setattr(import_plan, "plan_notes", watched)
    files = [(f"n{number}.txt", f"{number} ".encode() * 30) for number in range(7)]
    row = stage(project, staged.pack(files), format="text", written_as="")
    preview = staged.preview_import(row)
    assert (preview["total"], preview["looked_at"]) == (7, 2)
    report = importing.run_import(import_id=row.pk, progress=silent)
    assert report["notes"] == models.Document.objects.count() == 7
    assert sizes == [2, 2, 2, 2, 1]


def test_a_label_merged_during_an_import_is_followed_by_the_later_batches(project, monkeypatch):
    monkeypatch.setattr(reading, "BATCH", 1)
    labels = {label.code: label for label in models.Label.objects.filter(label_set__project=project)}
    ann = ANN + "T3\tDOCTOR 0 11\tMario Rossi\n"
    files = [file for name in "abc" for file in brat(name, f"{TEXT}{name}", ann)]

    def progress(done, total):
        if done == 1:
            merge_labels(source=labels["DOCTOR"], target=labels["PATIENT"], actor=None)

    importing.import_files(project=project, files=files, format="brat", written_as="gold", progress=progress)
    assert sorted(spans_of()) == [(0, 11, "PATIENT")] * 3 + [(30, 36, "CITY")] * 3


def test_an_import_resumes_where_it_stopped_and_a_canceled_one_leaves_only_notes_with_annotations(project, monkeypatch):
    monkeypatch.setattr(reading, "BATCH", 10)
    anna = make_member(project)
    row = stage(project, many(35), format="text", written_as="")
    run_until(row, 20)
    assert models.Document.objects.count() == 20
    report = importing.run_import(import_id=row.pk, progress=silent)
    assert models.Document.objects.count() == 35
    assert (report["notes"], report["already_there"], report["refused"]) == (35, 0, [])
    models.Document.objects.all().delete()
    row = stage(project, many(15), format="text", written_as="")
    run_until(row, 10, Canceled)
    touched = models.Document.objects.first()
    make_set(touched, anna, [(0, 4, "PATIENT")])
    importing.undo_import(import_id=row.pk)
    assert list(models.Document.objects.all()) == [touched]
    assert list(models.Assignment.objects.values_list("document", flat=True)) == [touched.pk]
    row.refresh_from_db()
    assert row.state == models.ImportState.CANCELED


def test_a_worker_without_its_lease_writes_nothing_and_a_discarded_import_adds_nothing(project):
    row = stage(project, many(5), format="text", written_as="")

    def lose():
        raise Killed

    with pytest.raises(Killed):
        importing.run_import(import_id=row.pk, progress=silent, fence=lose)
    assert not models.Document.objects.exists()
    models.Import.objects.update(state=models.ImportState.CANCELED)
    importing.run_import(import_id=row.pk, progress=silent)
    assert not models.Document.objects.exists()
