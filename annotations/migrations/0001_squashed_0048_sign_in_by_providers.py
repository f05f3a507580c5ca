"""All tables of this app. Databases that the migrations in `earlier` have made have the same tables."""

import uuid

import django.contrib.auth.models
import django.contrib.auth.validators
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from annotations.migrations._tables import CreateTables
from annotations.migrations._triggers import create_triggers


class Migration(migrations.Migration):
    replaces = [
        ("annotations", "0001_initial"),
        ("annotations", "0002_events_append_only"),
        ("annotations", "0003_review"),
        ("annotations", "0004_workbench_and_adjudication"),
        ("annotations", "0005_index_of_submissions"),
        ("annotations", "0006_comparisons"),
        ("annotations", "0007_stale_comparisons"),
        ("annotations", "0008_stored_models"),
        ("annotations", "0009_raw_confidence"),
        ("annotations", "0010_bulk_review"),
        ("annotations", "0011_strings_of_proposals"),
        ("annotations", "0012_merged_lists"),
        ("annotations", "0013_notes_to_offer"),
        ("annotations", "0014_two_person_rule"),
        ("annotations", "0015_labels_by_sureness"),
        ("annotations", "0016_planted_leaks"),
        ("annotations", "0017_labels_by_note"),
        ("annotations", "0018_gold_in_bulk_acts"),
        ("annotations", "0019_accounts_made_in_projects"),
        ("annotations", "0020_former_readers"),
        ("annotations", "0021_erasures"),
        ("annotations", "0022_jobs_from_models_runtime"),
        ("annotations", "0023_suggestions"),
        ("annotations", "0024_leaks_drawn_ahead"),
        ("annotations", "0025_notes_of_stored_suggestions"),
        ("annotations", "0026_words_of_the_glossary"),
        ("annotations", "0027_last_words_of_the_glossary"),
        ("annotations", "0028_quotas_and_idle_days"),
        ("annotations", "0029_labels_of_imports"),
        ("annotations", "0030_numbers_of_jobs"),
        ("annotations", "0031_archive_and_delete"),
        ("annotations", "0032_first_exports"),
        ("annotations", "0033_causes_of_errors"),
        ("annotations", "0034_rewritten_notes"),
        ("annotations", "0035_repaired_offsets"),
        ("annotations", "0036_majority_votes"),
        ("annotations", "0037_doubtful_in_bulk_acts"),
        ("annotations", "0038_release"),
        ("annotations", "0039_formats"),
        ("annotations", "0040_label_mappings"),
        ("annotations", "0041_archives"),
        ("annotations", "0042_attributes"),
        ("annotations", "0043_documents"),
        ("annotations", "0044_api_tokens"),
        ("annotations", "0045_ocr_confidence"),
        ("annotations", "0046_webhooks"),
        ("annotations", "0047_surrogate_digest_first"),
        ("annotations", "0048_sign_in_by_providers"),
    ]

    initial = True

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        CreateTables(
            [
                migrations.CreateModel(
                    name="Project",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("slug", models.SlugField(max_length=60, unique=True)),
                        ("name", models.CharField(max_length=120)),
                        (
                            "language",
                            models.CharField(
                                blank=True,
                                help_text="The language of notes that are imported without one.",
                                max_length=8,
                            ),
                        ),
                        (
                            "guidelines",
                            models.TextField(blank=True, help_text="Markdown, shown to annotators beside the note."),
                        ),
                        ("guidelines_version", models.PositiveIntegerField(default=0)),
                        (
                            "distribution",
                            models.CharField(
                                choices=[
                                    ("everyone", "Every annotator annotates every note"),
                                    ("some", "Some annotators annotate each note"),
                                    ("list", "I assign notes by hand"),
                                ],
                                default="everyone",
                                max_length=10,
                            ),
                        ),
                        (
                            "annotators_per_note",
                            models.PositiveSmallIntegerField(
                                default=2, help_text="Used when some annotators annotate each note."
                            ),
                        ),
                        (
                            "notes_per_annotator",
                            models.PositiveIntegerField(
                                blank=True,
                                help_text="The most notes that the rule assigns to one annotator.",
                                null=True,
                            ),
                        ),
                        (
                            "idle_days",
                            models.PositiveSmallIntegerField(
                                blank=True,
                                help_text="An annotator who is idle for this long loses their open notes.",
                                null=True,
                            ),
                        ),
                        (
                            "seed_from",
                            models.ForeignKey(
                                blank=True,
                                help_text="The run whose spans annotators begin from; without one they annotate blind.",
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to="annotations.author",
                            ),
                        ),
                        (
                            "unanimous_passes",
                            models.BooleanField(default=False, help_text="Unanimous annotations need no adjudicator."),
                        ),
                        (
                            "anonymous_adjudication",
                            models.BooleanField(
                                default=False, help_text="Adjudicators don't see the names of annotators."
                            ),
                        ),
                        (
                            "show_outcome",
                            models.BooleanField(
                                default=True, help_text="Annotators see the adjudicated result of their notes."
                            ),
                        ),
                        (
                            "second_review",
                            models.CharField(
                                choices=[
                                    ("off", "One reviewer is enough"),
                                    ("open", "A second reviewer checks the first one's decisions"),
                                    ("blind", "A second reviewer decides without seeing the first one's decisions"),
                                ],
                                default="off",
                                max_length=5,
                            ),
                        ),
                        (
                            "planted_share",
                            models.PositiveSmallIntegerField(
                                choices=[
                                    (0, "In no note"),
                                    (5, "In about 1 note of 20"),
                                    (10, "In about 1 note of 10"),
                                    (20, "In about 1 note of 5"),
                                ],
                                default=0,
                                help_text="Percent of the notes under review.",
                            ),
                        ),
                        (
                            "last_job_number",
                            models.PositiveIntegerField(
                                default=0,
                                help_text="The number of the project's latest job. It never decreases, so no number is given twice.",
                            ),
                        ),
                        (
                            "erasures",
                            models.PositiveIntegerField(
                                default=0,
                                help_text="How many times notes were erased in this project: a patient's, or a deleted note.",
                            ),
                        ),
                        (
                            "second_factor",
                            models.BooleanField(
                                default=False,
                                help_text="Members see the project only in sessions with a second factor.",
                            ),
                        ),
                        (
                            "archived_at",
                            models.DateTimeField(help_text="Since then, nobody can change the project.", null=True),
                        ),
                        (
                            "exported_at",
                            models.DateTimeField(
                                help_text="When notes were first exported, by a page or a command.", null=True
                            ),
                        ),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                        (
                            "created_by",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["name", "id"],
                        "indexes": [],
                        "constraints": [],
                    },
                ),
                migrations.CreateModel(
                    name="Membership",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="memberships",
                                to="annotations.project",
                            ),
                        ),
                        (
                            "user",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="memberships",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "role",
                            models.CharField(
                                choices=[
                                    ("manager", "Manager"),
                                    ("reviewer", "Reviewer"),
                                    ("annotator", "Annotator"),
                                    ("viewer", "Viewer"),
                                ],
                                max_length=10,
                            ),
                        ),
                        ("active", models.BooleanField(default=True)),
                        ("joined_at", models.DateTimeField(auto_now_add=True)),
                        ("removed_at", models.DateTimeField(null=True)),
                        (
                            "provided_by",
                            models.CharField(
                                blank=True,
                                help_text="The provider whose groups give this role; empty: a person gave it.",
                                max_length=40,
                            ),
                        ),
                        (
                            "read_others_until",
                            models.DateTimeField(
                                help_text="When this person last lost a role that may read every note.", null=True
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["id"],
                        "constraints": [
                            models.UniqueConstraint(fields=("project", "user"), name="one_membership_per_person")
                        ],
                        "indexes": [],
                    },
                ),
                migrations.CreateModel(
                    name="StoredFile",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="stored_files",
                                to="annotations.project",
                            ),
                        ),
                        (
                            "kind",
                            models.CharField(
                                choices=[
                                    ("upload", "Upload"),
                                    ("export", "Export"),
                                    ("model", "Model"),
                                    ("archive", "Project archive"),
                                    ("release", "Release"),
                                    ("original", "Original document"),
                                ],
                                max_length=8,
                            ),
                        ),
                        ("name", models.CharField(max_length=255)),
                        ("size", models.PositiveBigIntegerField(default=0)),
                        ("sha256", models.CharField(blank=True, max_length=64)),
                        (
                            "created_by",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                        (
                            "expires_at",
                            models.DateTimeField(
                                db_index=True, help_text="Null: the file is kept until a person deletes it.", null=True
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["-id"],
                        "indexes": [],
                        "constraints": [],
                    },
                ),
                migrations.CreateModel(
                    name="StoredChunk",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "file",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="chunks",
                                to="annotations.storedfile",
                            ),
                        ),
                        ("number", models.PositiveIntegerField()),
                        ("data", models.BinaryField()),
                    ],
                    options={
                        "ordering": ["number"],
                        "constraints": [models.UniqueConstraint(fields=("file", "number"), name="chunk_once")],
                        "indexes": [],
                    },
                ),
                migrations.CreateModel(
                    name="Import",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="imports",
                                to="annotations.project",
                            ),
                        ),
                        (
                            "stored_file",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to="annotations.storedfile",
                            ),
                        ),
                        ("format", models.CharField(max_length=20)),
                        (
                            "written_as",
                            models.CharField(
                                blank=True,
                                help_text="gold, annotator:NAME or run:NAME; empty without annotations.",
                                max_length=170,
                            ),
                        ),
                        ("language", models.CharField(blank=True, max_length=8)),
                        (
                            "labels_found",
                            models.JSONField(
                                help_text="Labels of the files: {name: [spans, notes]}. Null: not counted.", null=True
                            ),
                        ),
                        (
                            "notes_found",
                            models.PositiveIntegerField(
                                default=0,
                                help_text="Notes counted when the files were staged, for files that hold many; 0: not counted.",
                            ),
                        ),
                        (
                            "label_choices",
                            models.JSONField(
                                default=dict,
                                help_text="What to do with labels of the files, by name; complete once the import starts.",
                            ),
                        ),
                        (
                            "take_duplicates",
                            models.BooleanField(default=False, help_text="Import texts that exist under another name."),
                        ),
                        (
                            "repair_offsets",
                            models.BooleanField(
                                default=False,
                                help_text="Move a span to the text that it quotes, if that stands nearby.",
                            ),
                        ),
                        (
                            "all_or_nothing",
                            models.BooleanField(default=False, help_text="Import nothing if a note is refused."),
                        ),
                        (
                            "encoding",
                            models.CharField(
                                blank=True,
                                help_text="Encoding of the text in documents; empty: it is detected.",
                                max_length=40,
                            ),
                        ),
                        (
                            "no_cleanup",
                            models.JSONField(default=list, help_text="Clean-up rules that documents are read without."),
                        ),
                        (
                            "state",
                            models.CharField(
                                choices=[
                                    ("staged", "Waiting for confirmation"),
                                    ("running", "Running"),
                                    ("done", "Done"),
                                    ("failed", "Failed; nothing was imported"),
                                    ("canceled", "Canceled; nothing was imported"),
                                ],
                                default="staged",
                                max_length=10,
                            ),
                        ),
                        (
                            "notes_done",
                            models.PositiveIntegerField(default=0, help_text="Notes that a resumed import may skip."),
                        ),
                        (
                            "files_done",
                            models.PositiveIntegerField(
                                default=0,
                                help_text="Documents read to the end, which a resumed import doesn't read again.",
                            ),
                        ),
                        (
                            "notes_of_files",
                            models.PositiveIntegerField(
                                default=0, help_text="Those of `notes_done` from `files_done`."
                            ),
                        ),
                        ("report", models.JSONField(default=dict)),
                        (
                            "created_by",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                        ("finished_at", models.DateTimeField(null=True)),
                    ],
                    options={
                        "ordering": ["-id"],
                        "indexes": [],
                        "constraints": [],
                    },
                ),
                migrations.CreateModel(
                    name="Document",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="documents",
                                to="annotations.project",
                            ),
                        ),
                        ("name", models.CharField(max_length=255)),
                        ("sha256", models.CharField(max_length=64)),
                        ("length", models.PositiveIntegerField()),
                        ("language", models.CharField(blank=True, max_length=8)),
                        ("patient_id", models.CharField(blank=True, max_length=80)),
                        (
                            "imported_by",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="documents",
                                to="annotations.import",
                            ),
                        ),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                        ("text", models.TextField()),
                    ],
                    options={
                        "ordering": ["id"],
                        "indexes": [
                            models.Index(fields=["project", "id"], name="note_by_project"),
                            models.Index(fields=["project", "sha256"], name="note_by_sha256"),
                            models.Index(fields=["project", "patient_id"], name="note_by_patient"),
                        ],
                        "constraints": [models.UniqueConstraint(fields=("project", "name"), name="note_name_once")],
                    },
                ),
                migrations.CreateModel(
                    name="NoteMetadata",
                    fields=[
                        (
                            "document",
                            models.OneToOneField(
                                on_delete=django.db.models.deletion.CASCADE,
                                primary_key=True,
                                related_name="metadata",
                                serialize=False,
                                to="annotations.document",
                            ),
                        ),
                        ("note_type", models.CharField(blank=True, max_length=80)),
                        ("site", models.CharField(blank=True, max_length=80)),
                    ],
                    options={
                        "indexes": [],
                        "constraints": [],
                    },
                ),
                migrations.CreateModel(
                    name="DocumentSource",
                    fields=[
                        (
                            "document",
                            models.OneToOneField(
                                on_delete=django.db.models.deletion.CASCADE,
                                primary_key=True,
                                related_name="source",
                                serialize=False,
                                to="annotations.document",
                            ),
                        ),
                        (
                            "original",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="sources",
                                to="annotations.storedfile",
                            ),
                        ),
                        (
                            "name",
                            models.CharField(help_text="Relative path of the document in its import.", max_length=255),
                        ),
                        ("kind", models.CharField(max_length=12)),
                        ("encoding", models.CharField(blank=True, max_length=40)),
                        ("cleaned", models.JSONField(default=dict, help_text="Number of changes by clean-up rule.")),
                        ("places", models.JSONField(default=list)),
                        (
                            "ocr_confidence",
                            models.FloatField(
                                help_text="Mean confidence of the words that OCR read, from 0 to 1.", null=True
                            ),
                        ),
                    ],
                    options={
                        "indexes": [],
                        "constraints": [],
                    },
                ),
                migrations.CreateModel(
                    name="Resolution",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "document",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="resolutions",
                                to="annotations.document",
                            ),
                        ),
                        ("start", models.PositiveIntegerField()),
                        ("end", models.PositiveIntegerField()),
                        (
                            "choice",
                            models.CharField(
                                choices=[
                                    ("majority", "The majority's version"),
                                    ("unanimous", "Unanimous version"),
                                    ("annotator", "One annotator's version"),
                                    ("own", "The adjudicator's own version"),
                                    ("nothing", "No personal data"),
                                    ("rule", "Unanimous version, by the project's rule"),
                                ],
                                max_length=10,
                            ),
                        ),
                        ("author", models.BigIntegerField(help_text="The author whose version was chosen.", null=True)),
                        ("spans", models.JSONField(help_text="The outcome: a sorted list of [start, end, label id].")),
                        (
                            "heard",
                            models.JSONField(
                                default=dict, help_text="Sorted lists of [start, end, label id] by author id."
                            ),
                        ),
                        (
                            "by",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        ("at", models.DateTimeField()),
                    ],
                    options={
                        "ordering": ["start", "end"],
                        "constraints": [
                            models.UniqueConstraint(fields=("document", "start", "end"), name="resolution_once")
                        ],
                        "indexes": [],
                    },
                ),
                migrations.CreateModel(
                    name="Adjudication",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "document",
                            models.OneToOneField(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="adjudication",
                                to="annotations.document",
                            ),
                        ),
                        ("heard", models.CharField(max_length=64)),
                        (
                            "finished_by",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        ("finished_at", models.DateTimeField()),
                    ],
                    options={
                        "ordering": ["id"],
                        "indexes": [],
                        "constraints": [],
                    },
                ),
                migrations.CreateModel(
                    name="MajorityAct",
                    fields=[
                        ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="annotations.project",
                            ),
                        ),
                        (
                            "user",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "state",
                            models.CharField(
                                choices=[
                                    ("working", "Running"),
                                    ("done", "Done"),
                                    ("undoing", "Being undone"),
                                    ("undone", "Undone"),
                                ],
                                default="working",
                                max_length=8,
                            ),
                        ),
                        ("planned", models.PositiveIntegerField(default=0, help_text="The notes of the preview.")),
                        ("gold", models.PositiveIntegerField(default=0, help_text="Notes that became gold.")),
                        ("spans", models.PositiveIntegerField(default=0, help_text="Their gold spans.")),
                        (
                            "tied",
                            models.PositiveIntegerField(default=0, help_text="Notes with ties, left for adjudication."),
                        ),
                        (
                            "ties",
                            models.PositiveIntegerField(default=0, help_text="Their locations without a majority."),
                        ),
                        (
                            "has_gold",
                            models.PositiveIntegerField(default=0, help_text="Skipped: notes that already had gold."),
                        ),
                        (
                            "in_review",
                            models.PositiveIntegerField(default=0, help_text="Skipped: notes with an open review."),
                        ),
                        (
                            "begun",
                            models.PositiveIntegerField(
                                default=0, help_text="Skipped: notes whose adjudication was begun or finished."
                            ),
                        ),
                        (
                            "pending",
                            models.PositiveIntegerField(
                                default=0, help_text="Skipped: notes that an assigned annotator still has."
                            ),
                        ),
                        (
                            "left",
                            models.PositiveIntegerField(
                                default=0, help_text="Planned, but changed by somebody before their turn."
                            ),
                        ),
                        ("undone", models.PositiveIntegerField(default=0)),
                        (
                            "kept",
                            models.PositiveIntegerField(
                                default=0, help_text="Not undone because they were changed since."
                            ),
                        ),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                        ("ended_at", models.DateTimeField(null=True)),
                    ],
                    options={
                        "ordering": ["-created_at"],
                        "indexes": [models.Index(fields=["project", "-created_at"], name="majority_by_project")],
                        "constraints": [],
                    },
                ),
                migrations.CreateModel(
                    name="MajorityNote",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "act",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="notes",
                                to="annotations.majorityact",
                            ),
                        ),
                        (
                            "document",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="annotations.document"
                            ),
                        ),
                        ("adjudicated_version", models.PositiveIntegerField(null=True)),
                        ("gold_version", models.PositiveIntegerField(null=True)),
                    ],
                    options={
                        "ordering": ["document"],
                        "constraints": [models.UniqueConstraint(fields=("act", "document"), name="majority_note_once")],
                        "indexes": [],
                    },
                ),
                migrations.CreateModel(
                    name="Amendment",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="amendments",
                                to="annotations.project",
                            ),
                        ),
                        ("number", models.PositiveIntegerField()),
                        ("text", models.TextField(max_length=4000)),
                        (
                            "document",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to="annotations.document",
                            ),
                        ),
                        ("start", models.PositiveIntegerField(null=True)),
                        ("end", models.PositiveIntegerField(null=True)),
                        ("guidelines_version", models.PositiveIntegerField()),
                        (
                            "by",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        ("at", models.DateTimeField()),
                    ],
                    options={
                        "ordering": ["number"],
                        "constraints": [models.UniqueConstraint(fields=("project", "number"), name="amendment_once")],
                        "indexes": [],
                    },
                ),
                migrations.CreateModel(
                    name="Figures",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="figures",
                                to="annotations.project",
                            ),
                        ),
                        ("kind", models.CharField(max_length=30)),
                        ("key", models.CharField(max_length=64)),
                        ("value", models.JSONField()),
                        ("at", models.DateTimeField(auto_now=True)),
                    ],
                    options={
                        "ordering": ["-id"],
                        "constraints": [
                            models.UniqueConstraint(fields=("project", "kind", "key"), name="figures_once")
                        ],
                        "indexes": [],
                    },
                ),
                migrations.CreateModel(
                    name="ApiToken",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "user",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="api_tokens",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        ("name", models.CharField(max_length=80)),
                        (
                            "prefix",
                            models.CharField(
                                help_text="The beginning of the token, by which people recognize it.", max_length=16
                            ),
                        ),
                        ("digest", models.CharField(max_length=64, unique=True)),
                        (
                            "scope",
                            models.CharField(
                                choices=[
                                    ("read", "Read"),
                                    ("write", "Read and write"),
                                    ("manage", "Read, write and manage"),
                                ],
                                default="read",
                                max_length=6,
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                blank=True,
                                help_text="The only project that it reaches.",
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="annotations.project",
                            ),
                        ),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                        ("expires_at", models.DateTimeField()),
                        ("last_used_at", models.DateTimeField(null=True)),
                        ("revoked_at", models.DateTimeField(null=True)),
                    ],
                    options={
                        "ordering": ["-id"],
                        "indexes": [],
                        "constraints": [],
                    },
                ),
                migrations.CreateModel(
                    name="ApiAnswer",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "token",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="annotations.apitoken",
                            ),
                        ),
                        ("key", models.CharField(help_text="Keyed digest of the idempotency key.", max_length=64)),
                        (
                            "fingerprint",
                            models.CharField(
                                help_text="Keyed digest of the method, the path and the body.", max_length=64
                            ),
                        ),
                        ("claim", models.UUIDField()),
                        ("claimed_at", models.DateTimeField()),
                        ("status", models.PositiveSmallIntegerField(null=True)),
                        ("sealed", models.BinaryField(null=True)),
                        (
                            "project",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="annotations.project",
                            ),
                        ),
                        ("created_at", models.DateTimeField(auto_now_add=True, db_index=True)),
                    ],
                    options={
                        "ordering": ["id"],
                        "constraints": [models.UniqueConstraint(fields=("token", "key"), name="api_answer_once")],
                        "indexes": [],
                    },
                ),
                migrations.CreateModel(
                    name="Assignment",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="assignments",
                                to="annotations.project",
                            ),
                        ),
                        (
                            "document",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="assignments",
                                to="annotations.document",
                            ),
                        ),
                        (
                            "user",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="assignments",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "state",
                            models.CharField(
                                choices=[("open", "To do"), ("done", "Done"), ("released", "Released")],
                                default="open",
                                max_length=8,
                            ),
                        ),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                    ],
                    options={
                        "ordering": ["id"],
                        "indexes": [
                            models.Index(fields=["project", "user", "state", "document"], name="assignment_work_list"),
                            models.Index(fields=["user"], name="assignment_by_user"),
                        ],
                        "constraints": [models.UniqueConstraint(fields=("document", "user"), name="assigned_once")],
                    },
                ),
                migrations.CreateModel(
                    name="Author",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="authors",
                                to="annotations.project",
                            ),
                        ),
                        (
                            "kind",
                            models.CharField(
                                choices=[
                                    ("annotator", "Annotator"),
                                    ("run", "Model run"),
                                    ("refined", "Refined run"),
                                    ("adjudicated", "Adjudicated"),
                                    ("gold", "Gold"),
                                ],
                                max_length=12,
                            ),
                        ),
                        ("name", models.CharField(max_length=150)),
                        (
                            "user",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="authors",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "merged_from",
                            models.JSONField(
                                help_text="For merged suggestions: the author ids of the merged runs.", null=True
                            ),
                        ),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                    ],
                    options={
                        "ordering": ["kind", "name", "id"],
                        "constraints": [
                            models.UniqueConstraint(fields=("project", "kind", "name"), name="author_once"),
                            models.UniqueConstraint(
                                condition=models.Q(("kind", "annotator"), ("user__isnull", False)),
                                fields=("project", "user"),
                                name="one_author_per_person",
                            ),
                        ],
                        "indexes": [],
                    },
                ),
                migrations.CreateModel(
                    name="GoldVersion",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="gold_versions",
                                to="annotations.project",
                            ),
                        ),
                        ("number", models.PositiveIntegerField()),
                        ("content_hash", models.CharField(max_length=64)),
                        ("note_count", models.PositiveIntegerField()),
                        ("span_count", models.PositiveIntegerField()),
                        (
                            "erased_count",
                            models.PositiveIntegerField(
                                default=0, help_text="Notes erased since then: a patient's, or a deleted note."
                            ),
                        ),
                        (
                            "split_seed",
                            models.CharField(
                                blank=True,
                                help_text="Seed of the split by patient; empty without a split.",
                                max_length=40,
                            ),
                        ),
                        (
                            "split_shares",
                            models.JSONField(help_text="Percent of the notes by split: train, dev, test.", null=True),
                        ),
                        ("reason", models.CharField(blank=True, max_length=300)),
                        (
                            "created_by",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                    ],
                    options={
                        "ordering": ["-number"],
                        "constraints": [
                            models.UniqueConstraint(fields=("project", "number"), name="gold_version_once")
                        ],
                        "indexes": [],
                    },
                ),
                migrations.CreateModel(
                    name="GoldVersionNote",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "version",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="notes",
                                to="annotations.goldversion",
                            ),
                        ),
                        (
                            "document",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="annotations.document"
                            ),
                        ),
                        ("spans", models.JSONField()),
                        (
                            "split",
                            models.CharField(
                                blank=True,
                                help_text="train, dev or test, the same for all notes of a patient.",
                                max_length=5,
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["document"],
                        "constraints": [
                            models.UniqueConstraint(fields=("version", "document"), name="gold_version_note_once")
                        ],
                        "indexes": [],
                    },
                ),
                migrations.CreateModel(
                    name="Job",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "kind",
                            models.CharField(
                                help_text="One of the registered kinds (annotations.jobs.registry).", max_length=40
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="jobs",
                                to="annotations.project",
                            ),
                        ),
                        ("number", models.PositiveIntegerField(editable=False)),
                        ("params", models.JSONField(default=dict)),
                        (
                            "key",
                            models.CharField(
                                help_text="Idempotency key: a second request with it returns the same job.",
                                max_length=120,
                                unique=True,
                            ),
                        ),
                        (
                            "queue",
                            models.CharField(
                                choices=[("cpu", "cpu"), ("gpu", "gpu"), ("llm", "llm")], default="cpu", max_length=4
                            ),
                        ),
                        (
                            "state",
                            models.CharField(
                                choices=[
                                    ("queued", "Waiting for a worker"),
                                    ("running", "Running"),
                                    ("paused", "Paused"),
                                    ("done", "Done"),
                                    ("failed", "Failed"),
                                    ("canceled", "Canceled"),
                                ],
                                default="queued",
                                max_length=10,
                            ),
                        ),
                        ("done", models.PositiveIntegerField(default=0)),
                        ("total", models.PositiveIntegerField(default=0)),
                        ("attempt", models.PositiveSmallIntegerField(default=0)),
                        ("lease_token", models.UUIDField(null=True)),
                        ("lease_until", models.DateTimeField(null=True)),
                        ("pushed_at", models.DateTimeField(null=True)),
                        ("cancel_requested", models.BooleanField(default=False)),
                        ("pause_requested", models.BooleanField(default=False)),
                        ("error", models.TextField(blank=True, help_text="A sentence for people, without note text.")),
                        ("result", models.JSONField(default=dict)),
                        (
                            "created_by",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                        ("started_at", models.DateTimeField(null=True)),
                        (
                            "claimed_at",
                            models.DateTimeField(
                                help_text="When the present workers began. With `claimed_done` it gives the rate.",
                                null=True,
                            ),
                        ),
                        (
                            "claimed_done",
                            models.PositiveIntegerField(default=0, help_text="How much was done at `claimed_at`."),
                        ),
                        ("finished_at", models.DateTimeField(null=True)),
                        (
                            "no_help_until",
                            models.DateTimeField(
                                help_text="A helper failed; no other helper joins before this time.", null=True
                            ),
                        ),
                    ],
                    options={
                        "db_table": "models_runtime_job",
                        "ordering": ["-id"],
                        "indexes": [
                            models.Index(fields=["project", "-id"], name="job_by_project"),
                            models.Index(
                                condition=models.Q(("state__in", ["queued", "running"])),
                                fields=["state", "id"],
                                name="job_live",
                            ),
                        ],
                        "constraints": [models.UniqueConstraint(fields=("project", "number"), name="job_number_once")],
                    },
                ),
                migrations.CreateModel(
                    name="ReleasePolicy",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="release_policies",
                                to="annotations.project",
                            ),
                        ),
                        (
                            "slug",
                            models.SlugField(
                                help_text="Short name, as used for --policy; the same for all versions.", max_length=40
                            ),
                        ),
                        ("version", models.PositiveIntegerField()),
                        ("name", models.CharField(max_length=80)),
                        ("rules", models.JSONField()),
                        (
                            "created_by",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                    ],
                    options={
                        "ordering": ["slug", "-version"],
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("project", "slug", "version"), name="release_policy_version_once"
                            )
                        ],
                        "indexes": [],
                    },
                ),
                migrations.CreateModel(
                    name="Release",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="releases",
                                to="annotations.project",
                            ),
                        ),
                        ("number", models.PositiveIntegerField()),
                        (
                            "set_spec",
                            models.CharField(
                                help_text="Which annotations: gold, gold:VERSION, run:NAME and so on.", max_length=200
                            ),
                        ),
                        (
                            "author",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to="annotations.author",
                            ),
                        ),
                        (
                            "gold_version",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to="annotations.goldversion",
                            ),
                        ),
                        (
                            "policy",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.RESTRICT,
                                related_name="releases",
                                to="annotations.releasepolicy",
                            ),
                        ),
                        (
                            "surrogate_maker",
                            models.JSONField(
                                default=dict,
                                help_text="The language model that makes surrogates (surrogates.services.makers); empty: rules.",
                            ),
                        ),
                        (
                            "state",
                            models.CharField(
                                choices=[
                                    ("preparing", "Being prepared"),
                                    ("prepared", "Prepared"),
                                    ("signed", "Signed"),
                                    ("withdrawn", "Withdrawn"),
                                ],
                                default="preparing",
                                max_length=10,
                            ),
                        ),
                        (
                            "job",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to="annotations.job",
                            ),
                        ),
                        ("purpose", models.CharField(blank=True, max_length=300)),
                        ("recipient", models.CharField(blank=True, max_length=200)),
                        ("expires_on", models.DateField(help_text="When the certificate expires.", null=True)),
                        ("note_count", models.PositiveIntegerField(default=0)),
                        ("span_count", models.PositiveIntegerField(default=0)),
                        (
                            "erased_count",
                            models.PositiveIntegerField(default=0, help_text="Notes erased since they were released."),
                        ),
                        (
                            "revision",
                            models.PositiveIntegerField(
                                default=0, help_text="Counts the changes since its notes were prepared."
                            ),
                        ),
                        ("content_hash", models.CharField(blank=True, max_length=64)),
                        (
                            "figures",
                            models.JSONField(default=dict, help_text="Counts and measures of the prepared release."),
                        ),
                        ("risks", models.JSONField(default=list, help_text="Accepted open risks: [{text, by, at}].")),
                        (
                            "created_by",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                        (
                            "begun_at",
                            models.DateTimeField(
                                default=django.utils.timezone.now,
                                help_text="When preparing all of its notes was last started.",
                            ),
                        ),
                        (
                            "signed_by",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        ("signed_at", models.DateTimeField(null=True)),
                    ],
                    options={
                        "ordering": ["-number"],
                        "constraints": [
                            models.UniqueConstraint(fields=("project", "number"), name="release_number_once")
                        ],
                        "indexes": [],
                    },
                ),
                migrations.CreateModel(
                    name="ReleasedNote",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "release",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="notes",
                                to="annotations.release",
                            ),
                        ),
                        (
                            "document",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="annotations.document"
                            ),
                        ),
                        ("name", models.CharField(max_length=255)),
                        (
                            "state",
                            models.CharField(
                                choices=[("pending", "Waiting"), ("done", "Ready"), ("held", "Held back")],
                                default="pending",
                                max_length=7,
                            ),
                        ),
                        ("sha256", models.CharField(blank=True, max_length=64)),
                        ("span_count", models.PositiveIntegerField(default=0)),
                        ("spans", models.JSONField(default=list)),
                        ("pieces", models.JSONField(default=list)),
                        (
                            "extra",
                            models.JSONField(
                                default=list,
                                help_text="[start, end, label code, masked] in the original: what the leak gate's decisions added. `masked` stretches get the label's placeholder, whatever the policy does with the label.",
                            ),
                        ),
                        (
                            "exceptions",
                            models.JSONField(
                                default=dict, help_text="How often each exception of the leak gate applied."
                            ),
                        ),
                        (
                            "characters_kept",
                            models.PositiveIntegerField(
                                default=0, help_text="Code points outside of replaced stretches."
                            ),
                        ),
                        ("first_year", models.PositiveSmallIntegerField(null=True)),
                        ("last_year", models.PositiveSmallIntegerField(null=True)),
                        ("text", models.TextField(blank=True)),
                    ],
                    options={
                        "ordering": ["id"],
                        "indexes": [models.Index(fields=["release", "state", "id"], name="released_note_by_state")],
                        "constraints": [
                            models.UniqueConstraint(fields=("release", "document"), name="released_note_once")
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="LeakFinding",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "note",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="findings",
                                to="annotations.releasednote",
                            ),
                        ),
                        (
                            "where",
                            models.CharField(
                                choices=[("text", "Text"), ("name", "Name of the note")], default="text", max_length=4
                            ),
                        ),
                        ("start", models.PositiveIntegerField()),
                        ("end", models.PositiveIntegerField()),
                        ("original_start", models.PositiveIntegerField()),
                        ("original_end", models.PositiveIntegerField()),
                        (
                            "origin",
                            models.CharField(
                                choices=[
                                    ("note", "Labeled in this note"),
                                    ("patient", "Labeled in another note of the patient"),
                                    ("known", "Known identifier of the patient"),
                                    ("denied", "On the deny list"),
                                    ("shape", "Looks like an identifier"),
                                    ("audit", "Marked in the audit"),
                                ],
                                max_length=7,
                            ),
                        ),
                        (
                            "part",
                            models.BooleanField(
                                default=False, help_text="Only a part of the string, of four letters or more."
                            ),
                        ),
                        ("label", models.CharField(blank=True, max_length=60)),
                        (
                            "source",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="annotations.document",
                            ),
                        ),
                        ("source_start", models.PositiveIntegerField(null=True)),
                        ("source_end", models.PositiveIntegerField(null=True)),
                        (
                            "string_key",
                            models.BigIntegerField(
                                help_text="A keyed hash of the folded string, to decide equal ones together."
                            ),
                        ),
                        (
                            "decision",
                            models.CharField(
                                blank=True, choices=[("replace", "Replace here too"), ("allow", "Allow")], max_length=7
                            ),
                        ),
                        (
                            "decided_by",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        ("decided_at", models.DateTimeField(null=True)),
                    ],
                    options={
                        "ordering": ["note", "where", "start", "id"],
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("note", "where", "original_start", "original_end", "string_key"),
                                name="leak_finding_once",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("end__gt", models.F("start"))), name="leak_finding_not_empty"
                            ),
                        ],
                        "indexes": [],
                    },
                ),
                migrations.CreateModel(
                    name="AuditPlan",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "release",
                            models.OneToOneField(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="audit",
                                to="annotations.release",
                            ),
                        ),
                        (
                            "by",
                            models.CharField(
                                blank=True,
                                choices=[
                                    ("", "Not stratified"),
                                    ("type", "Note type"),
                                    ("site", "Site"),
                                    ("language", "Language"),
                                ],
                                max_length=8,
                            ),
                        ),
                        ("confidence", models.FloatField()),
                        ("target", models.FloatField()),
                        ("planted_share", models.FloatField()),
                        (
                            "leaks_allowed",
                            models.PositiveSmallIntegerField(
                                help_text="Notes with a leak after which reading goes on."
                            ),
                        ),
                        ("seed", models.CharField(help_text="Anybody can repeat the draw with it.", max_length=32)),
                        ("strata", models.JSONField()),
                        ("looks", models.JSONField()),
                        ("drawn", models.PositiveIntegerField()),
                        (
                            "erased_count",
                            models.PositiveIntegerField(
                                default=0, help_text="Notes of the sample that were erased since."
                            ),
                        ),
                        (
                            "state",
                            models.CharField(
                                choices=[("open", "Being read"), ("met", "Target met"), ("unmet", "Target not met")],
                                default="open",
                                max_length=5,
                            ),
                        ),
                        (
                            "created_by",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                    ],
                    options={
                        "indexes": [],
                        "constraints": [],
                    },
                ),
                migrations.CreateModel(
                    name="AuditNote",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "plan",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="notes",
                                to="annotations.auditplan",
                            ),
                        ),
                        (
                            "note",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="annotations.releasednote",
                            ),
                        ),
                        (
                            "position",
                            models.PositiveIntegerField(help_text="The order in which notes are read, from 1."),
                        ),
                        ("look", models.PositiveSmallIntegerField()),
                        ("stratum", models.CharField(blank=True, max_length=80)),
                        (
                            "state",
                            models.CharField(
                                choices=[("waiting", "Waiting"), ("reading", "Being read"), ("done", "Read")],
                                default="waiting",
                                max_length=7,
                            ),
                        ),
                        (
                            "reader",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        ("leased_until", models.DateTimeField(null=True)),
                        ("done_at", models.DateTimeField(null=True)),
                        ("planted_start", models.PositiveIntegerField(null=True)),
                        ("planted_end", models.PositiveIntegerField(null=True)),
                        ("planted_found", models.BooleanField(null=True)),
                    ],
                    options={
                        "ordering": ["plan", "position"],
                        "indexes": [models.Index(fields=["plan", "state", "position"], name="audit_note_by_state")],
                        "constraints": [
                            models.UniqueConstraint(fields=("plan", "position"), name="audit_position_once"),
                            models.UniqueConstraint(fields=("plan", "note"), name="audit_note_once"),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="AuditMark",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "note",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="marks",
                                to="annotations.auditnote",
                            ),
                        ),
                        ("start", models.PositiveIntegerField()),
                        ("end", models.PositiveIntegerField()),
                        ("label", models.CharField(max_length=60)),
                        ("leak", models.BooleanField(null=True)),
                        (
                            "finding",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to="annotations.leakfinding",
                            ),
                        ),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                        (
                            "dismissed_by",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        ("dismissed_at", models.DateTimeField(null=True)),
                    ],
                    options={
                        "ordering": ["note", "start", "id"],
                        "constraints": [
                            models.UniqueConstraint(fields=("note", "start", "end"), name="audit_mark_once"),
                            models.CheckConstraint(
                                condition=models.Q(("end__gt", models.F("start"))), name="audit_mark_not_empty"
                            ),
                        ],
                        "indexes": [],
                    },
                ),
                migrations.CreateModel(
                    name="Cause",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "document",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="causes",
                                to="annotations.document",
                            ),
                        ),
                        ("start", models.PositiveIntegerField()),
                        ("end", models.PositiveIntegerField()),
                        (
                            "kind",
                            models.CharField(
                                choices=[
                                    ("AB", "Abbreviation"),
                                    ("AM", "Ambiguity"),
                                    ("D", "Debatable annotation"),
                                    ("S", "Scarcity"),
                                ],
                                max_length=2,
                            ),
                        ),
                        (
                            "by",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        ("at", models.DateTimeField(auto_now=True)),
                    ],
                    options={
                        "ordering": ["start", "end", "kind"],
                        "constraints": [
                            models.UniqueConstraint(fields=("document", "start", "end", "kind"), name="cause_once")
                        ],
                        "indexes": [],
                    },
                ),
                migrations.CreateModel(
                    name="ErrorCause",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "document",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="error_causes",
                                to="annotations.document",
                            ),
                        ),
                        (
                            "author",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="error_causes",
                                to="annotations.author",
                            ),
                        ),
                        ("labels_of", models.CharField(blank=True, max_length=40)),
                        ("gold_start", models.PositiveIntegerField()),
                        ("gold_end", models.PositiveIntegerField()),
                        ("gold_label", models.CharField(blank=True, max_length=60)),
                        ("predicted_start", models.PositiveIntegerField()),
                        ("predicted_end", models.PositiveIntegerField()),
                        ("predicted_label", models.CharField(blank=True, max_length=60)),
                        (
                            "kind",
                            models.CharField(
                                choices=[
                                    ("AB", "Abbreviation"),
                                    ("AM", "Ambiguity"),
                                    ("D", "Debatable annotation"),
                                    ("S", "Scarcity"),
                                ],
                                max_length=2,
                            ),
                        ),
                        (
                            "by",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        ("at", models.DateTimeField(auto_now=True)),
                    ],
                    options={
                        "ordering": ["id"],
                        "constraints": [
                            models.UniqueConstraint(
                                fields=(
                                    "document",
                                    "author",
                                    "labels_of",
                                    "gold_start",
                                    "gold_end",
                                    "gold_label",
                                    "predicted_start",
                                    "predicted_end",
                                    "predicted_label",
                                    "kind",
                                ),
                                name="error_cause_once",
                            )
                        ],
                        "indexes": [],
                    },
                ),
                migrations.CreateModel(
                    name="ProjectKey",
                    fields=[
                        (
                            "project",
                            models.OneToOneField(
                                on_delete=django.db.models.deletion.CASCADE,
                                primary_key=True,
                                related_name="+",
                                serialize=False,
                                to="annotations.project",
                            ),
                        ),
                        ("sealed", models.BinaryField()),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                    ],
                    options={
                        "indexes": [],
                        "constraints": [],
                    },
                ),
                migrations.CreateModel(
                    name="SigningKey",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("public", models.BinaryField(max_length=32)),
                        ("sealed", models.BinaryField()),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                    ],
                    options={
                        "ordering": ["-id"],
                        "indexes": [],
                        "constraints": [],
                    },
                ),
                migrations.CreateModel(
                    name="Certificate",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "release",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="certificates",
                                to="annotations.release",
                            ),
                        ),
                        ("number", models.PositiveIntegerField()),
                        (
                            "key",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to="annotations.signingkey",
                            ),
                        ),
                        ("sha256", models.CharField(db_index=True, max_length=64)),
                        ("json", models.BinaryField()),
                        ("pdf", models.BinaryField()),
                        ("note_count", models.PositiveIntegerField()),
                        ("expires_on", models.DateField(null=True)),
                        (
                            "signed_by",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        ("signed_at", models.DateTimeField()),
                    ],
                    options={
                        "ordering": ["-number"],
                        "constraints": [
                            models.UniqueConstraint(fields=("release", "number"), name="certificate_number_once")
                        ],
                        "indexes": [],
                    },
                ),
                migrations.CreateModel(
                    name="ReleaseErasure",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "release",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="erasures",
                                to="annotations.release",
                            ),
                        ),
                        ("notes", models.PositiveIntegerField()),
                        ("patients", models.PositiveIntegerField()),
                        ("at", models.DateTimeField(auto_now_add=True)),
                    ],
                    options={
                        "ordering": ["id"],
                        "indexes": [],
                        "constraints": [],
                    },
                ),
                migrations.CreateModel(
                    name="Stale",
                    fields=[
                        ("document_id", models.BigIntegerField(primary_key=True, serialize=False)),
                    ],
                    options={
                        "ordering": ["document_id"],
                        "indexes": [],
                        "constraints": [],
                    },
                ),
                migrations.CreateModel(
                    name="Comparison",
                    fields=[
                        (
                            "document",
                            models.OneToOneField(
                                on_delete=django.db.models.deletion.CASCADE,
                                primary_key=True,
                                related_name="comparison",
                                serialize=False,
                                to="annotations.document",
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="annotations.project",
                            ),
                        ),
                        ("annotators", models.PositiveSmallIntegerField()),
                        (
                            "blind_annotators",
                            models.PositiveSmallIntegerField(
                                help_text="Annotators whose sets count in agreement figures."
                            ),
                        ),
                        ("disputed", models.PositiveIntegerField(help_text="Locations where any annotators differ.")),
                        (
                            "tied",
                            models.PositiveIntegerField(
                                default=0, help_text="Locations that a majority of the annotators leaves open."
                            ),
                        ),
                        ("agreed", models.PositiveIntegerField(help_text="Locations where all annotators agree.")),
                        (
                            "agreement",
                            models.FloatField(
                                help_text="Observed agreement over marked tokens; null without marked tokens.",
                                null=True,
                            ),
                        ),
                        ("heard", models.CharField(help_text="A hash of the annotation sets.", max_length=64)),
                        (
                            "last_at",
                            models.DateTimeField(
                                help_text="When the last blind annotation set was submitted.", null=True
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["document"],
                        "indexes": [
                            models.Index(fields=["project", "agreement", "document"], name="comparison_by_agreement"),
                            models.Index(fields=["project", "last_at"], name="comparison_by_time"),
                        ],
                        "constraints": [],
                    },
                ),
                migrations.CreateModel(
                    name="Difference",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="annotations.project",
                            ),
                        ),
                        (
                            "document",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="differences",
                                to="annotations.document",
                            ),
                        ),
                        ("start", models.PositiveIntegerField()),
                        ("end", models.PositiveIntegerField()),
                        (
                            "scope",
                            models.PositiveSmallIntegerField(
                                choices=[
                                    (1, "Blind annotation sets"),
                                    (2, "All submitted annotation sets"),
                                    (3, "Both"),
                                ]
                            ),
                        ),
                        ("kinds", models.CharField(max_length=40)),
                        (
                            "tokens",
                            models.BooleanField(
                                help_text="Whether the labels of any token differ, not only the bounds of spans."
                            ),
                        ),
                        ("labels", models.TextField()),
                        ("pairs", models.TextField()),
                    ],
                    options={
                        "ordering": ["document", "start"],
                        "indexes": [models.Index(fields=["project", "document", "start"], name="difference_in_order")],
                        "constraints": [],
                    },
                ),
                migrations.CreateModel(
                    name="Deletion",
                    fields=[
                        ("project_id", models.BigIntegerField(primary_key=True, serialize=False)),
                    ],
                    options={
                        "ordering": ["project_id"],
                        "indexes": [],
                        "constraints": [],
                    },
                ),
                migrations.CreateModel(
                    name="Event",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("project_id", models.BigIntegerField(null=True)),
                        ("document_id", models.BigIntegerField(null=True)),
                        ("annotation_set_id", models.BigIntegerField(null=True)),
                        (
                            "actor",
                            models.ForeignKey(
                                db_index=False,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        ("verb", models.CharField(max_length=24)),
                        ("data", models.JSONField(default=dict)),
                        ("change_id", models.UUIDField(null=True)),
                        ("reverts", models.BigIntegerField(null=True)),
                        ("at", models.DateTimeField(auto_now_add=True)),
                    ],
                    options={
                        "ordering": ["id"],
                        "indexes": [
                            models.Index(fields=["project_id", "id"], name="event_by_project"),
                            models.Index(fields=["document_id", "id"], name="event_by_document"),
                            models.Index(fields=["annotation_set_id", "id"], name="event_by_set"),
                            models.Index(fields=["actor", "id"], name="event_by_actor"),
                        ],
                        "constraints": [
                            models.UniqueConstraint(
                                condition=models.Q(("change_id__isnull", False)),
                                fields=("annotation_set_id", "change_id"),
                                name="change_once",
                            )
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="LabelSet",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "project",
                            models.OneToOneField(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="label_set",
                                to="annotations.project",
                            ),
                        ),
                        (
                            "key",
                            models.CharField(help_text="The shipped label set that it was copied from.", max_length=40),
                        ),
                        ("name", models.CharField(max_length=80)),
                        ("source", models.CharField(blank=True, max_length=300)),
                    ],
                    options={
                        "indexes": [],
                        "constraints": [],
                    },
                ),
                migrations.CreateModel(
                    name="Category",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "label_set",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="categories",
                                to="annotations.labelset",
                            ),
                        ),
                        ("code", models.CharField(max_length=60)),
                        ("name", models.CharField(max_length=80)),
                        (
                            "hue",
                            models.PositiveSmallIntegerField(help_text="0 to 11, a step on the OKLCH color wheel."),
                        ),
                        ("position", models.PositiveSmallIntegerField()),
                    ],
                    options={
                        "ordering": ["position", "id"],
                        "constraints": [
                            models.UniqueConstraint(fields=("label_set", "code"), name="category_code_once")
                        ],
                        "indexes": [],
                    },
                ),
                migrations.CreateModel(
                    name="Label",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "label_set",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="labels",
                                to="annotations.labelset",
                            ),
                        ),
                        (
                            "category",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="labels",
                                to="annotations.category",
                            ),
                        ),
                        ("code", models.CharField(max_length=60)),
                        ("name", models.CharField(max_length=80)),
                        ("hotkey", models.CharField(blank=True, max_length=1)),
                        ("description", models.TextField(blank=True)),
                        (
                            "placeholder",
                            models.CharField(help_text="Replaces the span in redacted text.", max_length=60),
                        ),
                        ("position", models.PositiveSmallIntegerField()),
                        (
                            "attributes",
                            models.JSONField(
                                blank=True,
                                default=list,
                                help_text="What its spans may have: a list of {name, values}; without values, boolean.",
                            ),
                        ),
                        (
                            "merged_into",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="merged_from",
                                to="annotations.label",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["position", "id"],
                        "constraints": [
                            models.UniqueConstraint(fields=("label_set", "code"), name="label_code_once"),
                            models.UniqueConstraint(
                                condition=models.Q(("merged_into__isnull", True)),
                                fields=("label_set", "name"),
                                name="label_name_once",
                            ),
                            models.UniqueConstraint(
                                condition=models.Q(
                                    ("merged_into__isnull", True), models.Q(("hotkey", ""), _negated=True)
                                ),
                                fields=("label_set", "hotkey"),
                                name="label_hotkey_once",
                            ),
                        ],
                        "indexes": [],
                    },
                ),
                migrations.CreateModel(
                    name="AnnotationSet",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "document",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="annotation_sets",
                                to="annotations.document",
                            ),
                        ),
                        (
                            "author",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="annotation_sets",
                                to="annotations.author",
                            ),
                        ),
                        (
                            "state",
                            models.CharField(
                                choices=[("draft", "Draft"), ("submitted", "Submitted"), ("withdrawn", "Withdrawn")],
                                default="draft",
                                max_length=10,
                            ),
                        ),
                        ("version", models.PositiveIntegerField(default=0)),
                        (
                            "blind",
                            models.BooleanField(
                                default=True, help_text="False where the author could see other annotators' spans."
                            ),
                        ),
                        (
                            "seeded",
                            models.BooleanField(default=False, help_text="The annotator began from a model's spans."),
                        ),
                        (
                            "imported_by",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="annotation_sets",
                                to="annotations.import",
                            ),
                        ),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                        ("updated_at", models.DateTimeField(auto_now=True)),
                        ("submitted_at", models.DateTimeField(null=True)),
                    ],
                    options={
                        "ordering": ["id"],
                        "indexes": [
                            models.Index(fields=["author", "state", "document"], name="set_by_author"),
                            models.Index(fields=["author", "submitted_at"], name="set_by_submission"),
                        ],
                        "constraints": [
                            models.UniqueConstraint(fields=("document", "author"), name="one_set_per_author")
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Span",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "annotation_set",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="spans",
                                to="annotations.annotationset",
                            ),
                        ),
                        ("start", models.PositiveIntegerField()),
                        ("end", models.PositiveIntegerField()),
                        (
                            "label",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="spans",
                                to="annotations.label",
                            ),
                        ),
                        ("confidence", models.FloatField(null=True)),
                        (
                            "raw_confidence",
                            models.FloatField(
                                help_text="The backend's own confidence, where `confidence` is calibrated.", null=True
                            ),
                        ),
                        (
                            "source",
                            models.CharField(
                                blank=True, help_text="Rule id, model pass or prompt version.", max_length=80
                            ),
                        ),
                        (
                            "provenance",
                            models.JSONField(
                                help_text="For gold: who suggested and who decided. For merged suggestions: their runs.",
                                null=True,
                            ),
                        ),
                        (
                            "string_key",
                            models.BigIntegerField(help_text="For suggestions: a hash of the string.", null=True),
                        ),
                        (
                            "attributes",
                            models.JSONField(
                                help_text="A choice or true by name of attribute; null without attributes.", null=True
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["start", "end", "id"],
                        "indexes": [
                            models.Index(
                                condition=models.Q(("string_key__isnull", False)),
                                fields=["string_key", "label"],
                                name="span_by_string",
                            )
                        ],
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("annotation_set", "start", "end", "label"), name="span_once"
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("end__gt", models.F("start"))), name="span_not_empty"
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Review",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "document",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="reviews",
                                to="annotations.document",
                            ),
                        ),
                        (
                            "author",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="reviews",
                                to="annotations.author",
                            ),
                        ),
                        (
                            "finished_by",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        ("finished_at", models.DateTimeField(null=True)),
                        (
                            "found_empty",
                            models.BooleanField(
                                default=False,
                                help_text="The reviewer read the note to its end and found no personal data.",
                            ),
                        ),
                        (
                            "drawn",
                            models.CharField(
                                blank=True,
                                choices=[("information", "By expected information"), ("chance", "At random")],
                                help_text="How the note was chosen; empty: in the order of the notes.",
                                max_length=11,
                            ),
                        ),
                        (
                            "planted_share",
                            models.PositiveSmallIntegerField(
                                help_text="The project's share when planted leaks were drawn; 0: the review began before.",
                                null=True,
                            ),
                        ),
                        (
                            "ahead",
                            models.BooleanField(
                                help_text="Created with the suggestions, before anybody began the review.", null=True
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["id"],
                        "indexes": [
                            models.Index(fields=["author", "finished_at", "document"], name="review_by_author")
                        ],
                        "constraints": [models.UniqueConstraint(fields=("document", "author"), name="review_once")],
                    },
                ),
                migrations.CreateModel(
                    name="BulkAct",
                    fields=[
                        ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="annotations.project",
                            ),
                        ),
                        (
                            "user",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        ("act", models.CharField(choices=[("accept", "Accept"), ("reject", "Reject")], max_length=8)),
                        ("rule", models.JSONField(default=dict)),
                        (
                            "state",
                            models.CharField(
                                choices=[
                                    ("planned", "Planned"),
                                    ("working", "Running"),
                                    ("done", "Done"),
                                    ("undoing", "Being undone"),
                                    ("undone", "Undone"),
                                ],
                                default="planned",
                                max_length=8,
                            ),
                        ),
                        ("planned", models.PositiveIntegerField(default=0)),
                        ("decided", models.PositiveIntegerField(default=0)),
                        (
                            "left",
                            models.PositiveIntegerField(
                                default=0, help_text="Decided by somebody else first, or in a finished review."
                            ),
                        ),
                        (
                            "beside",
                            models.PositiveIntegerField(
                                default=0,
                                help_text="Suggestions in conflict with accepted ones, rejected by the same act.",
                            ),
                        ),
                        (
                            "skipped",
                            models.PositiveIntegerField(
                                default=0, help_text="Open suggestions in notes that already have gold."
                            ),
                        ),
                        (
                            "skipped_notes",
                            models.PositiveIntegerField(default=0, help_text="The notes with skipped suggestions."),
                        ),
                        (
                            "doubtful",
                            models.PositiveIntegerField(
                                default=0, help_text="Skipped doubtful suggestions in other notes."
                            ),
                        ),
                        (
                            "conflicts",
                            models.PositiveIntegerField(
                                default=0,
                                help_text="Left open because they overlap gold or each other with different bounds.",
                            ),
                        ),
                        ("undone", models.PositiveIntegerField(default=0)),
                        (
                            "kept",
                            models.PositiveIntegerField(
                                default=0, help_text="Not undone because they were decided again or finished since."
                            ),
                        ),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                        ("ended_at", models.DateTimeField(null=True)),
                    ],
                    options={
                        "ordering": ["-created_at"],
                        "indexes": [models.Index(fields=["project", "-created_at"], name="bulk_by_project")],
                        "constraints": [],
                    },
                ),
                migrations.CreateModel(
                    name="SuggestedString",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "author",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="annotations.author",
                            ),
                        ),
                        ("string_key", models.BigIntegerField()),
                        ("label_id", models.BigIntegerField()),
                        ("count", models.IntegerField(default=0)),
                        ("open", models.IntegerField(default=0, help_text="Suggestions without a decision.")),
                        ("scored", models.IntegerField(default=0, help_text="Suggestions with a confidence.")),
                        ("confidence_sum", models.FloatField(default=0.0)),
                        ("uncertainty", models.FloatField(default=1.0)),
                        ("sample", models.BigIntegerField()),
                    ],
                    options={
                        "ordering": ["id"],
                        "indexes": [
                            models.Index(fields=["author", "-open", "id"], name="string_by_open"),
                            models.Index(fields=["author", "-uncertainty", "id"], name="string_by_uncertainty"),
                        ],
                        "constraints": [
                            models.UniqueConstraint(fields=("author", "string_key", "label_id"), name="string_once")
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="SuggestedNote",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "author",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="annotations.author",
                            ),
                        ),
                        (
                            "document",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="annotations.document"
                            ),
                        ),
                        ("information", models.FloatField()),
                        ("random_order", models.FloatField(help_text="A random number from 0 to 1.")),
                    ],
                    options={
                        "ordering": ["id"],
                        "indexes": [
                            models.Index(fields=["author", "-information", "id"], name="note_by_information"),
                            models.Index(fields=["author", "random_order", "id"], name="note_by_chance"),
                        ],
                        "constraints": [
                            models.UniqueConstraint(fields=("author", "document"), name="suggested_note_once")
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="SuggestedLabel",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "author",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="annotations.author",
                            ),
                        ),
                        (
                            "document",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="annotations.document"
                            ),
                        ),
                        ("label_id", models.BigIntegerField()),
                        ("source", models.CharField(blank=True, max_length=80)),
                        ("lowest", models.FloatField()),
                        ("nearest", models.FloatField()),
                    ],
                    options={
                        "ordering": ["id"],
                        "indexes": [
                            models.Index(fields=["author", "nearest", "document"], name="label_by_doubt"),
                            models.Index(
                                fields=["author", "label_id", "source", "lowest", "document"],
                                name="label_by_confidence",
                            ),
                            models.Index(
                                fields=["author", "label_id", "nearest", "document"], name="label_by_own_doubt"
                            ),
                            models.Index(fields=["author", "label_id", "document"], name="label_by_note"),
                        ],
                        "constraints": [],
                    },
                ),
                migrations.CreateModel(
                    name="Decision",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "suggestion",
                            models.OneToOneField(
                                db_constraint=False,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="decision",
                                to="annotations.span",
                            ),
                        ),
                        (
                            "review",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="decisions",
                                to="annotations.review",
                            ),
                        ),
                        (
                            "verdict",
                            models.CharField(
                                choices=[("accepted", "Accepted"), ("rejected", "Rejected")], max_length=8
                            ),
                        ),
                        ("start", models.PositiveIntegerField(null=True)),
                        ("end", models.PositiveIntegerField(null=True)),
                        ("label_id", models.BigIntegerField(null=True)),
                        (
                            "reviewer",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "cause",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="decisions",
                                to="annotations.bulkact",
                            ),
                        ),
                        ("at", models.DateTimeField(auto_now=True)),
                    ],
                    options={
                        "ordering": ["id"],
                        "indexes": [],
                        "constraints": [],
                    },
                ),
                migrations.CreateModel(
                    name="Handover",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "review",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="handovers",
                                to="annotations.review",
                            ),
                        ),
                        (
                            "state",
                            models.CharField(
                                choices=[
                                    ("waiting", "Waiting for the second reviewer"),
                                    ("resolving", "The second reviewer resolves differences"),
                                    ("done", "Finished by both reviewers"),
                                    ("undone", "Continued by the first reviewer"),
                                ],
                                default="waiting",
                                max_length=9,
                            ),
                        ),
                        (
                            "blind",
                            models.BooleanField(
                                help_text="The second reviewer doesn't see the first one's decisions until both have finished."
                            ),
                        ),
                        (
                            "first",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        ("first_at", models.DateTimeField(auto_now_add=True)),
                        ("outcome", models.JSONField()),
                        ("kept", models.JSONField(null=True)),
                        (
                            "second",
                            models.ForeignKey(
                                db_index=False,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        ("second_at", models.DateTimeField(null=True)),
                        ("compared", models.PositiveIntegerField(default=0)),
                        ("equal", models.PositiveIntegerField(default=0)),
                        (
                            "people",
                            models.ManyToManyField(
                                help_text="Everybody who took part in the first review.",
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["id"],
                        "indexes": [models.Index(fields=["review", "state"], name="handover_by_review")],
                        "constraints": [
                            models.UniqueConstraint(
                                condition=models.Q(("state__in", ["waiting", "resolving"])),
                                fields=("review",),
                                name="handed_over_once",
                            )
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="KnownPerson",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="annotations.project",
                            ),
                        ),
                        ("patient_id", models.CharField(max_length=80)),
                        ("sealed", models.BinaryField()),
                        ("digest", models.CharField(max_length=64)),
                        (
                            "fields",
                            models.PositiveIntegerField(
                                default=0, help_text="One bit for each field of Person that has a value."
                            ),
                        ),
                        ("updated_at", models.DateTimeField(auto_now=True)),
                    ],
                    options={
                        "ordering": ["patient_id"],
                        "constraints": [
                            models.UniqueConstraint(fields=("project", "patient_id"), name="known_person_once")
                        ],
                        "indexes": [],
                    },
                ),
                migrations.CreateModel(
                    name="KnownUpload",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="annotations.project"
                            ),
                        ),
                        ("format", models.CharField(max_length=4)),
                        (
                            "state",
                            models.CharField(
                                choices=[("waiting", "Being read"), ("read", "Waiting for confirmation")],
                                default="waiting",
                                max_length=7,
                            ),
                        ),
                        ("sealed", models.BinaryField()),
                        ("report", models.JSONField(default=dict)),
                        (
                            "created_by",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                    ],
                    options={
                        "ordering": ["-id"],
                        "indexes": [],
                        "constraints": [],
                    },
                ),
                migrations.CreateModel(
                    name="ListedTerm",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="annotations.project",
                            ),
                        ),
                        ("kind", models.CharField(choices=[("allow", "Allow"), ("deny", "Deny")], max_length=5)),
                        ("sealed", models.BinaryField()),
                        ("digest", models.CharField(max_length=64)),
                        ("label", models.CharField(blank=True, max_length=60)),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                    ],
                    options={
                        "ordering": ["id"],
                        "constraints": [
                            models.UniqueConstraint(fields=("project", "kind", "digest"), name="listed_term_once")
                        ],
                        "indexes": [],
                    },
                ),
                migrations.CreateModel(
                    name="LabelMapping",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="label_mappings",
                                to="annotations.project",
                            ),
                        ),
                        ("name", models.CharField(max_length=80)),
                        ("target", models.CharField(blank=True, max_length=40)),
                        (
                            "created_by",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                    ],
                    options={
                        "ordering": ["name", "id"],
                        "constraints": [
                            models.UniqueConstraint(fields=("project", "name"), name="label_mapping_name_once")
                        ],
                        "indexes": [],
                    },
                ),
                migrations.CreateModel(
                    name="MappedLabel",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "mapping",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="rows",
                                to="annotations.labelmapping",
                            ),
                        ),
                        (
                            "label",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="annotations.label"
                            ),
                        ),
                        ("code", models.CharField(blank=True, max_length=60)),
                    ],
                    options={
                        "constraints": [models.UniqueConstraint(fields=("mapping", "label"), name="mapped_label_once")],
                        "indexes": [],
                    },
                ),
                migrations.CreateModel(
                    name="PersonalKey",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "user",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "label",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="personal_keys",
                                to="annotations.label",
                            ),
                        ),
                        ("key", models.CharField(blank=True, max_length=1)),
                    ],
                    options={
                        "ordering": ["id"],
                        "constraints": [
                            models.UniqueConstraint(fields=("user", "label"), name="one_key_per_person_and_label")
                        ],
                        "indexes": [],
                    },
                ),
                migrations.CreateModel(
                    name="Search",
                    fields=[
                        ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="searches",
                                to="annotations.project",
                            ),
                        ),
                        (
                            "user",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "kind",
                            models.CharField(
                                choices=[("text", "In the text of the notes"), ("name", "In the names of the notes")],
                                default="text",
                                max_length=4,
                            ),
                        ),
                        ("text", models.CharField(max_length=255)),
                        ("options", models.JSONField(default=dict)),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                    ],
                    options={
                        "ordering": ["-created_at"],
                        "indexes": [],
                        "constraints": [],
                    },
                ),
                migrations.CreateModel(
                    name="PlantedLeak",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "review",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="planted",
                                to="annotations.review",
                            ),
                        ),
                        (
                            "suggestion",
                            models.OneToOneField(
                                db_constraint=False,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="planted",
                                to="annotations.span",
                            ),
                        ),
                        (
                            "known",
                            models.CharField(
                                choices=[
                                    (
                                        "people",
                                        "Reviewers always accepted the same words with this label in other notes",
                                    ),
                                    ("runs", "Most runs over the note suggest exactly this span"),
                                    ("string", "The run suggests the same words with this label in other notes"),
                                ],
                                max_length=6,
                            ),
                        ),
                        (
                            "result",
                            models.CharField(
                                blank=True,
                                choices=[
                                    ("found", "Marked by the reviewer"),
                                    ("partly", "Marked in part"),
                                    ("missed", "Not marked"),
                                    ("elsewhere", "Already in gold; not counted"),
                                ],
                                max_length=9,
                            ),
                        ),
                        (
                            "reviewer",
                            models.ForeignKey(
                                help_text="Who marked it, or finished the note without marking it.",
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        ("drawn_at", models.DateTimeField(auto_now_add=True)),
                        ("revealed_at", models.DateTimeField(null=True)),
                    ],
                    options={
                        "ordering": ["id"],
                        "indexes": [models.Index(fields=["result", "suggestion"], name="planted_by_result")],
                        "constraints": [],
                    },
                ),
                migrations.CreateModel(
                    name="ProviderAccount",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "user",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="provider_accounts",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        ("provider", models.CharField(max_length=40)),
                        ("subject", models.CharField(max_length=255)),
                        ("sealed", models.BinaryField(default=b"")),
                        (
                            "second_factor",
                            models.BooleanField(
                                default=False,
                                help_text="Whether the provider asked for a second factor at the last sign-in.",
                            ),
                        ),
                        ("signed_in_at", models.DateTimeField(null=True)),
                        ("checked_at", models.DateTimeField(null=True)),
                        ("next_check_at", models.DateTimeField(db_index=True, null=True)),
                    ],
                    options={
                        "ordering": ["id"],
                        "constraints": [
                            models.UniqueConstraint(fields=("provider", "subject"), name="one_account_per_subject"),
                            models.UniqueConstraint(fields=("provider", "user"), name="one_subject_per_account"),
                        ],
                        "indexes": [],
                    },
                ),
                migrations.CreateModel(
                    name="ProviderSession",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "account",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="sessions",
                                to="annotations.provideraccount",
                            ),
                        ),
                        ("sid", models.CharField(blank=True, db_index=True, max_length=255)),
                        ("name_id", models.CharField(blank=True, max_length=255)),
                        ("until", models.DateTimeField(help_text="When the session ends in any case.", null=True)),
                        ("began_at", models.DateTimeField(auto_now_add=True)),
                    ],
                    options={
                        "ordering": ["id"],
                        "indexes": [],
                        "constraints": [],
                    },
                ),
                migrations.CreateModel(
                    name="UsedToken",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("digest", models.CharField(max_length=64, unique=True)),
                        ("until", models.DateTimeField(db_index=True)),
                    ],
                    options={
                        "ordering": ["id"],
                        "indexes": [],
                        "constraints": [],
                    },
                ),
                migrations.CreateModel(
                    name="GroupRole",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="group_roles",
                                to="annotations.project",
                            ),
                        ),
                        ("provider", models.CharField(max_length=40)),
                        ("group", models.CharField(max_length=255)),
                        (
                            "role",
                            models.CharField(
                                choices=[
                                    ("manager", "Manager"),
                                    ("reviewer", "Reviewer"),
                                    ("annotator", "Annotator"),
                                    ("viewer", "Viewer"),
                                ],
                                max_length=10,
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["provider", "group", "id"],
                        "constraints": [
                            models.UniqueConstraint(fields=("project", "provider", "group"), name="one_role_per_group")
                        ],
                        "indexes": [],
                    },
                ),
                migrations.CreateModel(
                    name="RewrittenNote",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "author",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="rewritten_notes",
                                to="annotations.author",
                            ),
                        ),
                        (
                            "document",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="annotations.document"
                            ),
                        ),
                        ("text", models.TextField()),
                        ("sha256", models.CharField(max_length=64)),
                        (
                            "unmapped",
                            models.JSONField(
                                default=list,
                                help_text="[start, end, placeholder, source, doubt or null] of spans without a label.",
                            ),
                        ),
                    ],
                    options={
                        "constraints": [
                            models.UniqueConstraint(fields=("author", "document"), name="rewritten_note_once")
                        ],
                        "indexes": [],
                    },
                ),
                migrations.CreateModel(
                    name="Share",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "job",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE, related_name="shares", to="annotations.job"
                            ),
                        ),
                        (
                            "token",
                            models.UUIDField(
                                help_text="The worker's token; for the leading worker, that of the job.", unique=True
                            ),
                        ),
                        ("first", models.BigIntegerField()),
                        ("last", models.BigIntegerField()),
                        ("lease_until", models.DateTimeField()),
                    ],
                    options={
                        "db_table": "models_runtime_share",
                        "ordering": ["id"],
                        "indexes": [],
                        "constraints": [],
                    },
                ),
                migrations.CreateModel(
                    name="SurrogateEntity",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="surrogate_entities",
                                to="annotations.project",
                            ),
                        ),
                        ("kind", models.CharField(help_text="annotations.domain.redaction.kinds", max_length=20)),
                        ("scope", models.CharField(blank=True, max_length=32)),
                        ("sealed", models.BinaryField()),
                        ("surrogate_digest", models.CharField(max_length=32, null=True)),
                        (
                            "locked",
                            models.BooleanField(
                                default=False, help_text="Only a person may change the surrogate or add forms."
                            ),
                        ),
                        (
                            "made_by",
                            models.CharField(
                                help_text="rules, person, or a model with a digest of its prompts.", max_length=60
                            ),
                        ),
                        (
                            "version",
                            models.PositiveIntegerField(
                                default=1, help_text="Counts changes, so that no editor undoes another's."
                            ),
                        ),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                        (
                            "edited_at",
                            models.DateTimeField(help_text="When a person last changed the entity.", null=True),
                        ),
                        (
                            "edited_by",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["kind", "id"],
                        "indexes": [
                            models.Index(fields=["project", "kind", "id"], name="surrogate_by_kind"),
                            models.Index(fields=["project", "scope"], name="surrogate_by_scope"),
                            models.Index(fields=["project", "edited_at"], name="surrogate_by_edit"),
                        ],
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("project", "surrogate_digest", "kind"), name="surrogate_once"
                            )
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="SurrogateKey",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "entity",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="keys",
                                to="annotations.surrogateentity",
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="annotations.project",
                            ),
                        ),
                        ("kind", models.CharField(max_length=20)),
                        ("scope", models.CharField(blank=True, max_length=32)),
                        ("digest", models.CharField(max_length=32)),
                    ],
                    options={
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("project", "digest", "kind", "scope"), name="surrogate_key_once"
                            )
                        ],
                        "indexes": [],
                    },
                ),
                migrations.CreateModel(
                    name="SurrogateMention",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "entity",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="mentions",
                                to="annotations.surrogateentity",
                            ),
                        ),
                        (
                            "document",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="annotations.document",
                            ),
                        ),
                        ("start", models.PositiveIntegerField()),
                        ("end", models.PositiveIntegerField()),
                        ("form", models.BigIntegerField()),
                    ],
                    options={
                        "ordering": ["document", "start"],
                        "indexes": [models.Index(fields=["entity", "form"], name="surrogate_mention_by_form")],
                        "constraints": [
                            models.UniqueConstraint(fields=("document", "start", "end"), name="surrogate_mention_once"),
                            models.CheckConstraint(
                                condition=models.Q(("end__gt", models.F("start"))), name="surrogate_mention_not_empty"
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Comment",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "document",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="comments",
                                to="annotations.document",
                            ),
                        ),
                        (
                            "annotator",
                            models.ForeignKey(
                                db_index=False,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        ("span_id", models.BigIntegerField(null=True)),
                        ("start", models.PositiveIntegerField(null=True)),
                        ("end", models.PositiveIntegerField(null=True)),
                        (
                            "answers",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="answered_by",
                                to="annotations.comment",
                            ),
                        ),
                        (
                            "author",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        ("text", models.TextField(max_length=4000)),
                        (
                            "change_id",
                            models.UUIDField(
                                help_text="From the client, so that a repeated request adds no second comment.",
                                null=True,
                            ),
                        ),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                        ("edited_at", models.DateTimeField(null=True)),
                        ("resolved_at", models.DateTimeField(null=True)),
                        (
                            "resolved_by",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["id"],
                        "indexes": [models.Index(fields=["document", "annotator", "id"], name="comment_by_note")],
                        "constraints": [
                            models.UniqueConstraint(
                                condition=models.Q(("change_id__isnull", False)),
                                fields=("document", "change_id"),
                                name="comment_once",
                            )
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Flag",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "document",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="flags",
                                to="annotations.document",
                            ),
                        ),
                        (
                            "user",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "reason",
                            models.CharField(
                                choices=[
                                    ("unsure", "I am not sure how to label it"),
                                    ("text", "The text is damaged or incomplete"),
                                    ("language", "It is in a language I don't read"),
                                    ("not_a_note", "It is the wrong type of note"),
                                    ("sensitive", "It contains unusually sensitive information"),
                                    ("other", "Something else"),
                                ],
                                max_length=12,
                            ),
                        ),
                        ("text", models.CharField(blank=True, max_length=500)),
                        ("raised_at", models.DateTimeField(auto_now_add=True)),
                        ("cleared_at", models.DateTimeField(null=True)),
                        (
                            "cleared_by",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["id"],
                        "indexes": [models.Index(fields=["document", "cleared_at"], name="flag_by_note")],
                        "constraints": [
                            models.UniqueConstraint(
                                condition=models.Q(("cleared_at__isnull", True)),
                                fields=("document", "user"),
                                name="flag_open_once",
                            )
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="User",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("password", models.CharField(max_length=128, verbose_name="password")),
                        ("last_login", models.DateTimeField(blank=True, null=True, verbose_name="last login")),
                        (
                            "is_superuser",
                            models.BooleanField(
                                default=False,
                                help_text="Designates that this user has all permissions without explicitly assigning them.",
                                verbose_name="superuser status",
                            ),
                        ),
                        (
                            "username",
                            models.CharField(
                                error_messages={"unique": "A user with that username already exists."},
                                help_text="Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.",
                                max_length=150,
                                unique=True,
                                validators=[django.contrib.auth.validators.UnicodeUsernameValidator()],
                                verbose_name="username",
                            ),
                        ),
                        ("first_name", models.CharField(blank=True, max_length=150, verbose_name="first name")),
                        ("last_name", models.CharField(blank=True, max_length=150, verbose_name="last name")),
                        ("email", models.EmailField(blank=True, max_length=254, verbose_name="email address")),
                        (
                            "is_staff",
                            models.BooleanField(
                                default=False,
                                help_text="Designates whether the user can log into this admin site.",
                                verbose_name="staff status",
                            ),
                        ),
                        (
                            "is_active",
                            models.BooleanField(
                                default=True,
                                help_text="Designates whether this user should be treated as active. Unselect this instead of deleting accounts.",
                                verbose_name="active",
                            ),
                        ),
                        (
                            "date_joined",
                            models.DateTimeField(default=django.utils.timezone.now, verbose_name="date joined"),
                        ),
                        (
                            "reduced_chips",
                            models.BooleanField(
                                default=False, help_text="Show the label chip of a span only on focus."
                            ),
                        ),
                        (
                            "created_in",
                            models.ForeignKey(
                                blank=True,
                                help_text="The project whose manager created the account.",
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to="annotations.project",
                            ),
                        ),
                        (
                            "password_set_at",
                            models.DateTimeField(
                                blank=True,
                                editable=False,
                                help_text="Wrong passwords from before this time no longer count.",
                                null=True,
                            ),
                        ),
                        (
                            "left_provider_at",
                            models.DateTimeField(
                                blank=True,
                                editable=False,
                                help_text="The account is deactivated since then, until its provider lets the person sign in again.",
                                null=True,
                            ),
                        ),
                        (
                            "groups",
                            models.ManyToManyField(
                                blank=True,
                                help_text="The groups this user belongs to. A user will get all permissions granted to each of their groups.",
                                related_name="user_set",
                                related_query_name="user",
                                to="auth.group",
                                verbose_name="groups",
                            ),
                        ),
                        (
                            "user_permissions",
                            models.ManyToManyField(
                                blank=True,
                                help_text="Specific permissions for this user.",
                                related_name="user_set",
                                related_query_name="user",
                                to="auth.permission",
                                verbose_name="user permissions",
                            ),
                        ),
                    ],
                    options={
                        "verbose_name": "user",
                        "verbose_name_plural": "users",
                        "abstract": False,
                        "indexes": [],
                        "constraints": [],
                    },
                    managers=[
                        ("objects", django.contrib.auth.models.UserManager()),
                    ],
                ),
                migrations.CreateModel(
                    name="Webhook",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="annotations.project"
                            ),
                        ),
                        ("url", models.CharField(max_length=500)),
                        ("kinds", models.JSONField(default=list)),
                        ("sealed", models.BinaryField()),
                        (
                            "state",
                            models.CharField(
                                choices=[("on", "On"), ("off", "Off"), ("stopped", "Stopped after failures")],
                                default="on",
                                max_length=7,
                            ),
                        ),
                        ("given_up", models.PositiveSmallIntegerField(default=0)),
                        (
                            "created_by",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                    ],
                    options={
                        "ordering": ["id"],
                        "indexes": [],
                        "constraints": [],
                    },
                ),
                migrations.CreateModel(
                    name="Delivery",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "webhook",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="deliveries",
                                to="annotations.webhook",
                            ),
                        ),
                        ("key", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                        ("kind", models.CharField(max_length=20)),
                        (
                            "note",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="annotations.document",
                            ),
                        ),
                        ("data", models.JSONField(default=dict)),
                        (
                            "state",
                            models.CharField(
                                choices=[("waiting", "Waiting"), ("delivered", "Delivered"), ("failed", "Failed")],
                                default="waiting",
                                max_length=9,
                            ),
                        ),
                        ("tries", models.JSONField(default=list)),
                        ("tried", models.PositiveSmallIntegerField(default=0)),
                        ("due_at", models.DateTimeField()),
                        ("claim", models.UUIDField(null=True)),
                        ("claimed_until", models.DateTimeField(null=True)),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                    ],
                    options={
                        "ordering": ["-id"],
                        "indexes": [
                            models.Index(fields=["webhook", "-id"], name="delivery_by_webhook"),
                            models.Index(
                                condition=models.Q(("state", "waiting")), fields=["due_at"], name="delivery_due"
                            ),
                            models.Index(fields=["created_at"], name="delivery_by_age"),
                        ],
                        "constraints": [],
                    },
                ),
            ],
        ),
        migrations.RunPython(create_triggers, migrations.RunPython.noop),
    ]
