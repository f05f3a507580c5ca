"""Rename the remaining fields, verbs and stored values that the glossary forbids; no row is added or removed.

JSON is rewritten as in migration 0026.
"""

from importlib import import_module

from django.db import migrations, models
from django.db.models import Q

guards = import_module("annotations.migrations.earlier.0002_events_append_only")
replace = import_module("annotations.migrations.earlier.0026_words_of_the_glossary")._replace

Words = dict[str, str]
VERBS: Words = {
    "adjudication.closed": "adjudication.finished",
    "review.closed": "review.finished",
    "review.handed_on": "review.handed_over",
    "review.taken_back": "review.handover_undone",
}
DECISION = {'"made":': '"added":', '"gone":': '"removed":', '"pass": "settling"': '"pass": "resolving"'}
UNDO = {'"taken_back":': '"undone":'}
EVENTS: dict[str, Words] = {
    "comment.resolved": {'"settled":': '"resolved":'},
    "notes.searched": {'"where": "unlabelled"': '"where": "unlabeled"'},
    "review.decided": DECISION,
    "review.undone": DECISION,
    "review.bulk_done": UNDO,
    "review.bulk_undone": UNDO,
}
KEPT = {'"come":': '"added":', '"gone":': '"removed":'}
STATES: dict[str, Words] = {
    "annotations_handover": {"settling": "resolving", "back": "undone"},
    "annotations_import": {"cancelled": "canceled"},
    "models_runtime_job": {"cancelled": "canceled"},
}


def rename(apps, schema_editor):
    _rename(apps, schema_editor, lambda words: words)


def rename_back(apps, schema_editor):
    _rename(apps, schema_editor, lambda words: {new: old for old, new in words.items()})


def _rename(apps, schema_editor, of):
    guards.unguard(apps, schema_editor)
    for verb, words in EVENTS.items():
        replace(schema_editor, "event", "data", of(words), f"verb = '{verb}'")
    for old, new in of(VERBS).items():
        schema_editor.execute(f"UPDATE annotations_event SET verb = '{new}' WHERE verb = '{old}'", None)
    guards.guard(apps, schema_editor)
    replace(schema_editor, "handover", "kept", of(KEPT))
    for table, words in STATES.items():
        for old, new in of(words).items():
            schema_editor.execute(f"UPDATE {table} SET state = '{new}' WHERE state = '{old}'", None)
    _rename_in_jobs(apps, schema_editor, of)


def _rename_in_jobs(apps, schema_editor, of):
    """The results of bulk jobs, of which there are few."""
    jobs = apps.get_model("annotations", "Job").objects.using(schema_editor.connection.alias)
    ((old, new),) = of({"taken_back": "undone"}).items()
    for job in jobs.filter(kind__in=["bulk", "bulk_undo"], result__has_key=old).only("result"):
        job.result = {new if key == old else key: value for key, value in job.result.items()}
        job.save(update_fields=["result"])


class Migration(migrations.Migration):
    dependencies = [("annotations", "0026_words_of_the_glossary")]

    operations = [
        migrations.RemoveIndex("review", "review_by_author"),
        migrations.RenameField("review", "closed_by", "finished_by"),
        migrations.RenameField("review", "closed_at", "finished_at"),
        migrations.AddIndex(
            "review", models.Index(fields=["author", "finished_at", "document"], name="review_by_author")
        ),
        migrations.RenameField("adjudication", "closed_by", "finished_by"),
        migrations.RenameField("adjudication", "closed_at", "finished_at"),
        migrations.RenameField("bulkact", "taken_back", "undone"),
        migrations.RemoveConstraint("handover", "handed_over_once"),
        migrations.AlterField(
            "handover",
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
        migrations.AddConstraint(
            "handover",
            models.UniqueConstraint(
                fields=["review"], condition=Q(state__in=["waiting", "resolving"]), name="handed_over_once"
            ),
        ),
        migrations.AlterField(
            "import",
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
        migrations.AlterField(
            "job",
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
        migrations.RenameIndex("suggestedlabel", old_name="label_by_sureness", new_name="label_by_confidence"),
        migrations.RunPython(rename, rename_back),
    ]
