"""Rename fields, stored values and keys of stored JSON to the words of the glossary; no row is added or removed.

The JSON is rewritten as text by the database, because a large project has millions of events. Both databases store a
key as `"key":` and write `: ` between key and value. Inside a string, a quotation mark is escaped, so that no string
can look like a key.
"""

from importlib import import_module

from django.db import migrations, models

guards = import_module("annotations.migrations.earlier.0002_events_append_only")

Words = dict[str, str]
SUGGESTION = {'"proposal":': '"suggestion":'}
CHOICE = {'"choice": "reader"': '"choice": "annotator"'}
COMMENT = {'"reader":': '"annotator":', '"place":': '"bounds":'}
GOLD = SUGGESTION | CHOICE
DECISION = {'"place":': '"bounds":'} | GOLD
ADJUDICATION = {'"reader":': '"author":', '"act": "reader"': '"act": "annotator"'} | CHOICE
EVENTS: dict[str, Words] = {
    "project.changed": {'"readers_per_note"': '"annotators_per_note"'},
    "comment.added": COMMENT,
    "comment.changed": COMMENT,
    "comment.deleted": COMMENT,
    "comment.resolved": COMMENT,
    "cause.set": {'"place":': '"bounds":'},
    "adjudication.decided": ADJUDICATION,
    "adjudication.undone": ADJUDICATION,
    "review.decided": DECISION,
    "review.undone": DECISION,
    "review.compared": {'"alike":': '"equal":'},
    "review.revealed": {'"reader":': '"reviewer":'} | SUGGESTION,
}
OF_PEOPLE = """annotation_set_id IN (
    SELECT s.id FROM annotations_annotationset s JOIN annotations_author a ON a.id = s.author_id
    WHERE a.kind IN ('adjudicated', 'gold'))"""


def rename(apps, schema_editor):
    _rename(apps, schema_editor, lambda words: words)


def rename_back(apps, schema_editor):
    _rename(apps, schema_editor, lambda words: {new: old for old, new in words.items()})


def _rename(apps, schema_editor, of):
    guards.unguard(apps, schema_editor)
    for verb, words in EVENTS.items():
        _replace(schema_editor, "event", "data", of(words), f"verb = '{verb}'")
    guards.guard(apps, schema_editor)
    _replace(schema_editor, "handover", "kept", of(DECISION))
    _replace(schema_editor, "handover", "outcome", of({'"proposals":': '"suggestions":'}))
    _replace(schema_editor, "span", "provenance", of(GOLD), OF_PEOPLE)
    _replace(schema_editor, "goldversionnote", "spans", of(GOLD))
    for old, new in of({"reader": "annotator"}).items():
        schema_editor.execute(f"UPDATE annotations_resolution SET choice = '{new}' WHERE choice = '{old}'", None)


def _replace(schema_editor, table, column, words, where="1 = 1"):
    """Replace words in a JSON column. Rows without any of them stay as they are."""
    is_json = schema_editor.connection.vendor == "postgresql"
    old_text = f"CAST({column} AS text)" if is_json else column
    text = old_text
    for old, new in words.items():
        text = f"replace({text}, '{old}', '{new}')"
    found = " OR ".join(f"{old_text} LIKE '%{old}%'" for old in words)
    value = f"CAST({text} AS jsonb)" if is_json else text
    schema_editor.execute(f"UPDATE annotations_{table} SET {column} = {value} WHERE {where} AND ({found})", None)


class Migration(migrations.Migration):
    dependencies = [("annotations", "0025_notes_of_stored_suggestions")]

    operations = [
        migrations.RenameField("project", "readers_per_note", "annotators_per_note"),
        migrations.RemoveIndex("comment", "comment_by_note"),
        migrations.RenameField("comment", "reader", "annotator"),
        migrations.AddIndex("comment", models.Index(fields=["document", "annotator", "id"], name="comment_by_note")),
        migrations.RenameField("plantedleak", "reader", "reviewer"),
        migrations.RenameField("resolution", "reader", "author"),
        migrations.AlterField(
            "resolution",
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
        migrations.RenameField("comparison", "readers", "annotators"),
        migrations.RenameField("comparison", "blind_readers", "blind_annotators"),
        migrations.RemoveIndex("suggestednote", "note_by_chance"),
        migrations.RenameField("suggestednote", "place", "random_order"),
        migrations.AddIndex(
            "suggestednote", models.Index(fields=["author", "random_order", "id"], name="note_by_chance")
        ),
        migrations.RemoveConstraint("suggestednote", "proposed_note_once"),
        migrations.AddConstraint(
            "suggestednote", models.UniqueConstraint(fields=["author", "document"], name="suggested_note_once")
        ),
        migrations.RenameField("handover", "alike", "equal"),
        migrations.RunPython(rename, rename_back),
    ]
