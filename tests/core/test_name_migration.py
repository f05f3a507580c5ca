"""The migration that changes names stored before control characters were forbidden in names."""

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from annotations.core.progress import silent
from annotations.domain.names import bad_character
from annotations.gold.services.making import freeze, make_gold
from annotations.models import Author, Document, Event, GoldVersionNote, Import, Label, Project, Span
from annotations.transfer.services.exporting import run_export
from models_runtime.models import TrainedModel
from tests import factories as make

pytestmark = pytest.mark.django_db(transaction=True)
BEFORE = [("annotations", "0022_jobs_from_models_runtime"), ("models_runtime", "0015_jobs_to_annotations")]
RLO = "\u202e"  # the control character "right-to-left override"


@pytest.fixture
def migrate():
    """Set the database back to before the migration, which does not change the tables, and run it."""

    def go():
        executor = MigrationExecutor(connection)
        executor.migrate(BEFORE)
        executor = MigrationExecutor(connection)
        executor.migrate(executor.loader.graph.leaf_nodes())

    return go


def names(model, field="name"):
    return list(model.objects.order_by("pk").values_list(field, flat=True))


def test_every_name_is_renamed_and_stays_unique(migrate):
    project = make.make_project("covid", name=f"Covid{RLO} ward")
    other = make.make_project("other", name="Größe 病历")
    for name, patient in (
        ("caso-1", "P1"), (f"caso{RLO}-1", f"P{RLO}1"), ("caso\x01-1", f"P{RLO}1"), ("a\tb\u2028c", ""),
        (RLO, "P1\x7f"),
    ):  # fmt: skip
        make.make_note(project, name, name, patient_id=patient)
    make.make_note(project, "long", "x" * 254 + RLO)
    make.make_note(project, "long 2", "x" * 254)
    make.make_note(other, "other", f"caso{RLO}-1")
    for name in ("rules-1", f"rules{RLO}-1"):
        make.make_author(project, kind="run", name=name)
        TrainedModel.objects.create(project=project, name=name, backend="crf", state="ready")
    make.make_author(project, kind="annotator", name=f"rules{RLO}-1")
    Label.objects.filter(label_set__project=project, code="DOCTOR").update(name=f"{RLO}PATIENT")
    migrate()
    assert names(Project) == ["Covid ward", "Größe 病历"]
    assert names(Document) == [
        "caso-1", "caso-1-2", "caso-1-3", "a b c", "unnamed", "x" * 253 + "-2", "x" * 254, "caso-1"
    ]  # fmt: skip
    assert names(Document, "patient_id") == ["P1", "P1-2", "P1-2", "", "P1-3", "", "", ""]
    assert names(Author) == ["rules-1", "rules-1-2", "rules-1"] and names(TrainedModel) == ["rules-1", "rules-1-2"]
    assert Label.objects.get(label_set__project=project, code="DOCTOR").name == "PATIENT-2"
    assert not Event.objects.exists()
    migrate()  # running it again changes nothing
    assert names(Author) == ["rules-1", "rules-1-2", "rules-1"]


def test_the_provenance_of_gold_is_renamed_and_gold_can_be_exported(migrate):
    project = make.make_project("covid")
    run = make.make_author(project, kind="run", name=f"rules{RLO}-1")
    note = make.make_note(project, name=f"caso{RLO}-1")
    annotation_set = make.make_set(note, run, [(0, 11, "PATIENT")], submitted=True)
    make_gold(document=note, annotation_set=annotation_set, actor=None)
    version, _ = freeze(project=project, actor=None)
    Import.objects.create(project=project, format="brat", written_as=f"run:rules{RLO}-1")
    migrate()
    assert Span.objects.get(annotation_set__author__kind="gold").provenance["from"] == "run:rules-1"
    assert GoldVersionNote.objects.get().spans[0][3]["from"] == "run:rules-1"
    assert Import.objects.get().written_as == "run:rules-1"
    version.refresh_from_db()
    frozen = version.content_hash
    report = run_export(project_id=project.pk, set_spec="gold:1", format="brat", actor_id=None, progress=silent)
    assert report["notes"] == 1 and version.content_hash == frozen
    assert not any(map(bad_character, [*names(Document), *names(Author)]))
