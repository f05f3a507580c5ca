"""A project moved to another instance: export, import and export again give the same archive."""

import io
import json

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection

from annotations import models
from annotations.agreement.rules.units import ComparedUnit
from annotations.agreement.selectors.disagreements import Filters
from annotations.agreement.selectors.sentences import sentence_lines
from annotations.agreement.services.comparing import bring_up_to_date
from annotations.agreement.services.figures import figures_of
from annotations.core.access import Can, enter
from annotations.core.bulk import in_batches
from annotations.core.services import silent
from annotations.core.spans import definitions
from annotations.gold.services.making import freeze
from annotations.notes.selectors.comments import comments_csv
from annotations.ops.services.archives import tables, writing
from annotations.ops.services.archives.reading import import_archive
from annotations.ops.services.archives.writing import write_archive
from annotations.ops.services.erasing import erase_patient
from annotations.projects.services.members import add_member
from annotations.projects.services.projects import archive_project
from annotations.review.services.finishing import finish_review
from annotations.scores.services.scoring import score, score_request
from annotations.text.attributes import AttributeDef
from tests import factories as make
from tests.ops.archives.archived_world import PATIENT, archive_of, full_project, rows_of
from tests.worlds.commands import told
from tests.zips import unzipped

# Parts of a score that hold primary keys or names of the instance.
IDS = {"author_id", "project"}
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def world():
    return full_project()


def without_manifest(archive):
    """The files of an archive but the manifest, and without the roles, which an import gives to nobody."""
    files = {name: data for name, data in unzipped(archive).items() if name != "manifest.json"}
    people = sorted(row["name"] for row in rows_of(archive, "people.jsonl"))
    return files | {"people.jsonl": "\n".join(people).encode()}


@pytest.mark.both_databases
def test_on_another_instance_the_archive_is_byte_identical(world, tmp_path):
    file, second = tmp_path / "one.zip", tmp_path / "two.zip"
    written = told("export_archive", "covid", file)
    shares = shares_of(world.project)
    call_command("flush", interactive=False, verbosity=0)
    # Other rows come first, so that no primary key is the same by chance.
    other_rows()
    found = told("import_archive", file)
    assert (found["people"], found["accounts"]) == (6, 6)
    assert (found["project"], found["notes"]) == ("covid", written["notes"])
    told("export_archive", "covid", second)
    one, two = file.read_bytes(), second.read_bytes()
    manifests = [json.loads(unzipped(archive)["manifest.json"]) for archive in (one, two)]
    assert without_manifest(one) == without_manifest(two)
    for manifest in manifests:
        manifest.pop("made_at")
        manifest["files"].pop("people.jsonl")
    assert manifests[0] == manifests[1]
    assert shares_of(models.Project.objects.get(slug="covid")) == shares


def test_the_copy_works_like_the_original(world):
    import_archive(file=io.BytesIO(archive_of(world.project)), slug="copy")
    copy = models.Project.objects.get(slug="copy")
    assert copy.seed_from.name == "rules-1" and copy.seed_from.project == copy
    spans = models.Span.objects.filter(annotation_set__document__project=copy)
    gold = spans.get(annotation_set__document__name="review-0", annotation_set__author__kind="gold", start=44)
    found = models.Span.objects.get(pk=gold.provenance["suggestion"])
    assert (found.annotation_set.author.name, found.label.code) == ("rules-1", "HOSPITAL")
    assert found.annotation_set_id == gold.provenance["set"]
    adjudicated = spans.filter(annotation_set__author__kind="adjudicated")
    heard = {author for span in adjudicated for author in span.provenance["annotators"]}
    assert heard <= set(copy.authors.filter(kind="annotator").values_list("pk", flat=True)) and heard
    # Both continue: the second reviewer decides, the comparison fits, and the next frozen version is the same one.
    _version, new = freeze(project=copy, actor=world.mia)
    assert not new, "nothing has changed since the frozen version"
    note = copy.documents.get(name="review-1")
    finish_review(document=note, author=copy.authors.get(name="rules-1"), user=world.rosa, rest=open_in(note))
    assert models.Handover.objects.get(review__document=note).compared == 3
    bring_up_to_date(copy)
    compared = models.Comparison.objects.get(document__project=copy, document__name="whole")
    assert models.Adjudication.objects.get(document__project=copy).heard == compared.heard


def open_in(note):
    sets = models.AnnotationSet.objects.filter(document=note, author__name="rules-1")
    return list(models.Span.objects.filter(annotation_set__in=sets, decision=None).values_list("pk", flat=True))


def test_people_of_an_archive_are_marked_and_nobody_becomes_a_member(world, tmp_path):
    file = tmp_path / "one.zip"
    told("export_archive", "covid", file)
    assert file.stat().st_mode & 0o077 == 0, "it contains notes"
    for words, message in (
        (("import_archive", file), "already exists"),
        (("export_archive", "covid", file), "exists"),
        (("export_archive", "covid", tmp_path / "folder"), "zip"),
    ):
        with pytest.raises(CommandError, match=message):
            told(*words)
    assert [each.name for each in tmp_path.iterdir()] == ["one.zip"]
    call_command("flush", interactive=False, verbosity=0)
    mia, anna = make.make_user("MIA", is_staff=True), make.make_user("anna")
    told("import_archive", file, "--as", "moved", "--by", "MIA")
    moved = models.Project.objects.get(slug="moved")
    assert dict(moved.memberships.values_list("user__username", "role")) == {"MIA": "manager"}
    marked = models.User.objects.exclude(pk__in=[mia.pk, anna.pk])
    assert marked.count() == 6 and not marked.exclude(username__endswith=" (imported)").exists()
    assert not marked.filter(is_active=True).exists() and not any(user.has_usable_password() for user in marked)
    # Whoever the archive names, every row that names a person names a marked one.
    for model in tables.TABLES:
        for field in (*model._meta.concrete_fields, *model._meta.many_to_many):
            if field.related_model is models.User:
                rows = tables.rows_of(model, moved).filter(**{f"{field.name}__in": [mia, anna]})
                assert not rows.exists(), (model, field.name)
    names = set(moved.authors.filter(kind="annotator").values_list("name", flat=True))
    assert names == {"anna (imported)", "bruno (imported)", "carla (imported)"}
    gold = models.Span.objects.filter(annotation_set__document__project=moved, provenance__by__isnull=False)
    assert {row["by"] for row in gold.values_list("provenance", flat=True)} == {"rita (imported)"}
    # Who works on under the same name begins anew, and a further archive tells the two apart.
    add_member(project=moved, user=anna, role="annotator", actor=mia)
    assert not moved.authors.filter(user=anna).exists()
    assert {"anna", "anna (imported)", "rita"} <= {row["name"] for row in rows_of(archive_of(moved), "people.jsonl")}
    _slug, again = import_archive(file=io.BytesIO(archive_of(moved)), slug="third")
    assert again["sets"] == moved.documents.filter(annotation_sets__isnull=False).values("annotation_sets").count()


def test_an_erased_patient_leaves_nothing_in_the_archive(world):
    erase_patient(project=world.project, patient_id=PATIENT, actor=world.mia)
    archive = archive_of(world.project)
    for name, data in unzipped(archive).items():
        for word in ('"whole"', '"note":"tied"', '"name":"draft"', '"P-1"', "Is this one?", "Cut off"):
            if name != "manifest.json":
                assert word.encode() not in data, (name, word)
    _slug, imported = import_archive(file=io.BytesIO(archive), slug="copy")
    assert imported["notes"] == models.Document.objects.filter(project=world.project).count()
    assert models.GoldVersion.objects.get(project__slug="copy").erased_count > 0
    assert without_manifest(archive_of(models.Project.objects.get(slug="copy"))) == without_manifest(archive)


@pytest.mark.both_databases
def test_work_during_the_export_does_not_change_what_it_reads(world):
    """The rows are those of one moment, although a note is added after the first table was read."""
    before = without_manifest(archive_of(world.project))

    def add(done, total):
        if not models.Document.objects.filter(project=world.project, name="late").exists():
            make.make_set(make.make_note(world.project, "Late", "late"), world.anna, submitted=True)

    target = io.BytesIO()
    write_archive(project=world.project, target=target, progress=add)
    assert models.Document.objects.filter(name="late").exists()
    assert without_manifest(target.getvalue()) == before


# Tables that an archive leaves out (annotations.ops.services.archives.writing.LEFT_OUT says why), and fields.
OUT = {
    "ApiAnswer", "ApiToken", "AuditMark", "AuditNote", "AuditPlan", "Certificate", "ChangedGold", "Comparison",
    "Deletion", "Delivery", "Difference", "DocumentSource", "Event", "Figures", "GroupRole", "Import", "Job",
    "KnownPerson", "KnownUpload", "LeakFinding", "ListedTerm", "NoteIndex", "PersonalKey", "ProjectKey",
    "ProviderAccount", "ProviderSession", "ProvisionedGroup", "ProvisionedUser", "Release", "ReleaseErasure",
    "ReleasePolicy", "Recording", "RecordingBlock", "AudioRegion", "ReleasedNote", "RemovalDecision", "Search",
    "Share", "SigningKey", "Stale", "StoredChunk", "StoredFile", "SuggestedLabel", "SuggestedString", "SurrogateEntity",
    "SurrogateKey", "SurrogateMention", "UsedToken", "User", "Webhook",
}  # fmt: skip


FIELDS_OUT = {
    "Project": "erasures exported_at last_job_number mcp_clients second_factor slug", "Membership": "provided_by user",
    "Document": "imported_by length", "AnnotationSet": "imported_by", "Span": "string_key",
    "GoldVersionNote": "gold gold_number", "Comment": "change_id", "Record": "release",
}  # fmt: skip


def test_every_table_and_field_of_the_database_is_archived_or_left_out_on_purpose():
    own = {models.Project, models.Membership, *tables.TABLES}
    names = {model.__name__ for model in own}
    assert names | OUT == {model.__name__ for model in apps.get_app_config("annotations").get_models()}
    assert not names & OUT
    for model in own:
        fields = (*model._meta.concrete_fields, *model._meta.many_to_many)
        every = {field.name for field in fields if field.name != "id" and field.related_model is not models.Project}
        out = every - {column.key for column in tables.columns_of(model)}
        assert out == set(FIELDS_OUT.get(model.__name__, "").split()), model


def other_rows():
    """Rows of another project, and an account that the archive names too."""
    other = make.make_project("other")
    note = make.make_note(other)
    make.make_set(note, make.make_member(other, user="zoe"), [(0, 11, "PATIENT")])
    make.make_set(note, "gold", [(0, 11, "PATIENT")])
    make.make_user("mia")


def shares_of(project):
    """Everything that is computed from the project: hashes, agreement, scores, strings for review."""
    scored = score(score_request(project, version=1, author="run:rules-1"))
    strings = models.SuggestedString.objects.filter(author__project=project).order_by(
        "author__name", "string_key", "label_id"
    )
    rows = models.Author.objects.filter(project=project).values_list("pk", "name")
    names = {pk: name.removesuffix(" (imported)") for pk, name in rows}
    figures = {str(unit): figures_of(project=project, unit=unit)["granularities"] for unit in ComparedUnit}
    for of_unit in figures.values():
        for at_granularity in of_unit.values():
            for pair in at_granularity["pairs"]:
                pair |= {"a": names[int(pair["a"])], "b": names[int(pair["b"])]}
    return {
        "hashes": list(models.GoldVersion.objects.filter(project=project).values_list("number", "content_hash")),
        "strings": list(strings.values_list("author__name", "string_key", "count", "open")),
        "spans": models.Span.objects.filter(annotation_set__document__project=project).count(),
        "texts": list(models.Document.objects.filter(project=project).order_by("pk").values_list("name", "text")),
        "figures": figures,
        "scored": {key: value for key, value in scored.table.items() if key not in IDS},
    }


def test_beside_the_original_project_the_copy_has_the_same_archive(world):
    models.User.objects.filter(username="anna").update(email="anna@ward.example", first_name="Annamaria")
    archive_project(project=world.project, actor=world.mia)
    archive = archive_of(world.project)
    assert not [name for name, data in without_manifest(archive).items() if not data], "every table has rows"
    everything = b"".join(unzipped(archive).values())
    for secret in (b"anna@ward.example", b"Annamaria", *(u.password.encode() for u in models.User.objects.all())):
        assert secret not in everything
    assert all(set(row) == {"name", "member"} for row in rows_of(archive, "people.jsonl"))
    both = {"Role": "patient", "initials": True}
    spans = [span for span in rows_of(archive, "span.jsonl") if "attributes" in span]
    assert both in [span["attributes"] for span in spans]
    frozen = [span for row in rows_of(archive, "goldversionnote.jsonl") for span in row["spans"]]
    assert both in [rest for *_span, rest in (span for span in frozen if len(span) == 5)]
    kept = [row["kept"] for row in rows_of(archive, "handover.jsonl")]
    assert both in [span[6] for one in kept for span in one["removed"]]
    assert import_archive(file=io.BytesIO(archive), slug="copy")[1]["accounts"] == 6
    copy = models.Project.objects.get(slug="copy")
    assert copy.archived_at is not None
    attributes = definitions(make.label_of(copy, "PATIENT"))
    assert attributes == (AttributeDef("Role", ("patient", "relative")), AttributeDef("initials"))
    moved = models.Span.objects.filter(annotation_set__document__project=copy, attributes__isnull=False)
    assert moved.count() == len(spans)
    mapping = models.LabelMapping.objects.get(project=copy)
    assert (mapping.name, mapping.created_by.username) == ("For the registry", "mia (imported)")
    rows = mapping.rows.filter(label__label_set__project=copy).values_list("label__code", "code")
    assert dict(rows) == {"PATIENT": "NAME", "AGE": ""}
    assert without_manifest(archive_of(copy)) == without_manifest(archive)


@pytest.mark.postgresql
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no cursors on a server")
def test_rows_are_read_without_cursors_that_stay_open(world, monkeypatch):
    """The garbage collector may close the cursor of an abandoned generator within another query, which then hangs."""
    access = enter(world.mia, world.project.slug, Can.MANAGE)
    for note in models.Document.objects.filter(project=world.project):
        models.Comment.objects.create(document=note, author=world.mia, text="Mr or Mrs?")
    monkeypatch.setattr("annotations.agreement.selectors.sentences.BATCH", 1)
    sources = {
        "archive": writing._RowWriter(world.project, "default", silent).rows(models.Span),
        "sentences": sentence_lines(world.project, Filters(), hidden=False),
        "comments": iter(comments_csv(access).streaming_content),
    }
    for name, lines in sources.items():
        assert next(lines) and next(lines), name
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_cursors")
            assert cursor.fetchone() == (0,), name


@pytest.mark.both_databases
def test_batches_hold_every_row_once_whatever_the_rows_and_keys_are(world):
    events, acts = models.Event.objects.order_by("pk"), models.BulkAct.objects.all()
    for rows in (events, events.values_list("pk", "verb"), events.values("pk", "verb"), acts, acts.values_list("pk")):
        batches = list(in_batches(rows, 2))
        assert [len(batch) for batch in batches[:-1]] == [2] * (len(batches) - 1)
        assert [row for batch in batches for row in batch] == list(rows.order_by("pk")) != []
