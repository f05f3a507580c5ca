"""Archived projects, and projects that are being deleted: only their events may be deleted."""

from importlib import import_module

from django.db import migrations, models

guards = import_module("annotations.migrations.earlier.0002_events_append_only")

# The triggers name the small table of deletions, not that of projects: SQLite can't write a table anew while a trigger
# of another table names it.
SQLITE = """CREATE TRIGGER event_no_delete BEFORE DELETE ON annotations_event
    WHEN NOT EXISTS (SELECT 1 FROM annotations_deletion WHERE project_id = OLD.project_id)
    BEGIN SELECT RAISE(ABORT, 'events are append-only'); END"""
POSTGRESQL = """CREATE OR REPLACE FUNCTION deidreview_append_only() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF TG_OP = 'DELETE' THEN
      IF EXISTS (SELECT 1 FROM annotations_deletion WHERE project_id = OLD.project_id) THEN RETURN OLD; END IF;
    END IF;
    RAISE EXCEPTION 'events are append-only'; END $$"""


def let_deleted_projects(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(POSTGRESQL)
    else:
        schema_editor.execute("DROP TRIGGER event_no_delete")
        schema_editor.execute(SQLITE)


def let_nobody(apps, schema_editor):
    guards.unguard(apps, schema_editor)
    guards.guard(apps, schema_editor)


class Migration(migrations.Migration):
    dependencies = [("annotations", "0030_numbers_of_jobs")]
    operations = [
        migrations.AddField(
            "project",
            "archived_at",
            models.DateTimeField(null=True, help_text="Since then, nobody can change the project."),
        ),
        migrations.AlterField(
            "project",
            "erasures",
            models.PositiveIntegerField(
                default=0, help_text="How many times notes were erased in this project: a patient's, or a deleted note."
            ),
        ),
        migrations.AlterField(
            "goldversion",
            "erased_count",
            models.PositiveIntegerField(
                default=0, help_text="Notes erased since then: a patient's, or a deleted note."
            ),
        ),
        migrations.CreateModel(
            "Deletion",
            [
                ("project_id", models.BigIntegerField(primary_key=True, serialize=False)),
            ],
            options={"ordering": ["project_id"]},
        ),
        migrations.RunPython(let_deleted_projects, let_nobody),
    ]
