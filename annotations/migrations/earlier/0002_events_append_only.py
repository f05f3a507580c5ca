from django.db import migrations

SQLITE = [
    """CREATE TRIGGER event_no_update BEFORE UPDATE ON annotations_event
       BEGIN SELECT RAISE(ABORT, 'events are append-only'); END""",
    """CREATE TRIGGER event_no_delete BEFORE DELETE ON annotations_event
       BEGIN SELECT RAISE(ABORT, 'events are append-only'); END""",
]
POSTGRESQL = [
    """CREATE FUNCTION deidreview_append_only() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN RAISE EXCEPTION 'events are append-only'; END $$""",
    """CREATE TRIGGER event_append_only BEFORE UPDATE OR DELETE ON annotations_event
       FOR EACH ROW EXECUTE FUNCTION deidreview_append_only()""",
]


def guard(apps, schema_editor):
    for statement in POSTGRESQL if schema_editor.connection.vendor == "postgresql" else SQLITE:
        schema_editor.execute(statement)


def unguard(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP TRIGGER event_append_only ON annotations_event")
        schema_editor.execute("DROP FUNCTION deidreview_append_only()")
    else:
        schema_editor.execute("DROP TRIGGER event_no_update")
        schema_editor.execute("DROP TRIGGER event_no_delete")


class Migration(migrations.Migration):
    dependencies = [("annotations", "0001_initial")]
    operations = [migrations.RunPython(guard, unguard)]
