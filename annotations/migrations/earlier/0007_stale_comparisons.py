"""Every change of an annotator's submitted reading marks its note as one to compare again, in the same transaction.

A trigger rather than a line in each service: readings are handed in, reopened, imported, withdrawn, relabelled by a
merge, and whoever writes the next such service can't forget it. Runs and gold are no annotators' readings.
"""

from django.db import migrations

# SQLite drops a table's triggers where a migration has to write the table anew; a test looks whether they are there.
WHEN = {"INSERT": "NEW.state = 'submitted'", "DELETE": "OLD.state = 'submitted'"}
WHEN["UPDATE"] = f"({WHEN['DELETE']} OR {WHEN['INSERT']})"
SQLITE = [
    f"""CREATE TRIGGER reading_{event.lower()}_stale AFTER {event} ON annotations_annotationset
        WHEN {when} AND EXISTS
          (SELECT 1 FROM annotations_author WHERE id = {row}.author_id AND kind = 'annotator')
        BEGIN INSERT OR IGNORE INTO annotations_stale (document_id) VALUES ({row}.document_id); END"""
    for event, when in WHEN.items()
    for row in ["OLD" if event == "DELETE" else "NEW"]
]
# On conflict the row is written all the same: whoever compares this note waits for this transaction, then sees it.
POSTGRESQL = [
    """CREATE FUNCTION deidreview_stale() RETURNS trigger LANGUAGE plpgsql AS $$
       DECLARE changed record;
       BEGIN
         IF TG_OP = 'DELETE' THEN changed := OLD; ELSE changed := NEW; END IF;
         IF EXISTS (SELECT 1 FROM annotations_author WHERE id = changed.author_id AND kind = 'annotator') THEN
           INSERT INTO annotations_stale (document_id) VALUES (changed.document_id)
           ON CONFLICT (document_id) DO UPDATE SET document_id = excluded.document_id;
         END IF;
         RETURN NULL;
       END $$""",
    *(
        f"""CREATE TRIGGER reading_{event.lower()}_stale AFTER {event} ON annotations_annotationset
            FOR EACH ROW WHEN ({when}) EXECUTE FUNCTION deidreview_stale()"""
        for event, when in WHEN.items()
    ),
]
THERE = """INSERT INTO annotations_stale (document_id)
    SELECT DISTINCT s.document_id FROM annotations_annotationset s
    JOIN annotations_author a ON a.id = s.author_id WHERE a.kind = 'annotator' AND s.state = 'submitted'"""


def watch(apps, schema_editor):
    for statement in POSTGRESQL if schema_editor.connection.vendor == "postgresql" else SQLITE:
        schema_editor.execute(statement)
    schema_editor.execute(THERE)


def unwatch(apps, schema_editor):
    postgresql = schema_editor.connection.vendor == "postgresql"
    for event in WHEN:
        table = " ON annotations_annotationset" if postgresql else ""
        schema_editor.execute(f"DROP TRIGGER reading_{event.lower()}_stale{table}")
    if postgresql:
        schema_editor.execute("DROP FUNCTION deidreview_stale()")


class Migration(migrations.Migration):
    dependencies = [("annotations", "0006_comparisons")]
    operations = [migrations.RunPython(watch, unwatch)]
