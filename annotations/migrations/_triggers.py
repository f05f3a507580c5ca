"""Triggers, since no service can forget them: events are append-only, and a changed annotation set is compared again.

Only the events of a project that is being deleted can be deleted. They are recognized by the small table of deletions,
not that of projects: SQLite can't rewrite a table while a trigger of another table names it.

A submitted annotation set of an annotator that was added, changed or deleted puts its note into the table of stale
comparisons, in the same transaction, and one of gold into the table of changed gold. SQLite drops a table's triggers
where a migration has to rewrite the table; a test checks that they are there.
"""

WHEN = {"INSERT": "NEW.state = 'submitted'", "DELETE": "OLD.state = 'submitted'"}
WHEN["UPDATE"] = f"({WHEN['DELETE']} OR {WHEN['INSERT']})"
SQLITE = [
    """CREATE TRIGGER event_no_update BEFORE UPDATE ON annotations_event
       BEGIN SELECT RAISE(ABORT, 'events are append-only'); END""",
    """CREATE TRIGGER event_no_delete BEFORE DELETE ON annotations_event
       WHEN NOT EXISTS (SELECT 1 FROM annotations_deletion WHERE project_id = OLD.project_id)
       BEGIN SELECT RAISE(ABORT, 'events are append-only'); END""",
    *(
        f"""CREATE TRIGGER reading_{event.lower()}_stale AFTER {event} ON annotations_annotationset
            WHEN {when} AND EXISTS
              (SELECT 1 FROM annotations_author WHERE id = {row}.author_id AND kind = 'annotator')
            BEGIN INSERT OR IGNORE INTO annotations_stale (document_id) VALUES ({row}.document_id); END"""
        for event, when in WHEN.items()
        for row in ["OLD" if event == "DELETE" else "NEW"]
    ),
    *(
        f"""CREATE TRIGGER gold_{event.lower()}_changed AFTER {event} ON annotations_annotationset WHEN {when}
            BEGIN INSERT INTO annotations_changedgold (project_id, document_id)
              SELECT project_id, {row}.document_id FROM annotations_author
              WHERE id = {row}.author_id AND kind = 'gold'; END"""
        for event, when in WHEN.items()
        for row in ["OLD" if event == "DELETE" else "NEW"]
    ),
]
# On a conflict the row is written all the same: who compares this note waits for this transaction, then sees it.
POSTGRESQL = [
    """CREATE OR REPLACE FUNCTION deidreview_append_only() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF TG_OP = 'DELETE' THEN
           IF EXISTS (SELECT 1 FROM annotations_deletion WHERE project_id = OLD.project_id) THEN RETURN OLD; END IF;
         END IF;
         RAISE EXCEPTION 'events are append-only'; END $$""",
    """CREATE TRIGGER event_append_only BEFORE UPDATE OR DELETE ON annotations_event
       FOR EACH ROW EXECUTE FUNCTION deidreview_append_only()""",
    """CREATE OR REPLACE FUNCTION deidreview_stale() RETURNS trigger LANGUAGE plpgsql AS $$
       DECLARE changed record;
       BEGIN
         IF TG_OP = 'DELETE' THEN changed := OLD; ELSE changed := NEW; END IF;
         IF EXISTS (SELECT 1 FROM annotations_author WHERE id = changed.author_id AND kind = 'annotator') THEN
           INSERT INTO annotations_stale (document_id) VALUES (changed.document_id)
           ON CONFLICT (document_id) DO UPDATE SET document_id = excluded.document_id;
         END IF;
         INSERT INTO annotations_changedgold (project_id, document_id)
           SELECT project_id, changed.document_id FROM annotations_author
           WHERE id = changed.author_id AND kind = 'gold';
         RETURN NULL;
       END $$""",
    *(
        f"""CREATE TRIGGER reading_{event.lower()}_stale AFTER {event} ON annotations_annotationset
            FOR EACH ROW WHEN ({when}) EXECUTE FUNCTION deidreview_stale()"""
        for event, when in WHEN.items()
    ),
]


def create_triggers(apps, schema_editor):
    for statement in POSTGRESQL if schema_editor.connection.vendor == "postgresql" else SQLITE:
        schema_editor.execute(statement)
