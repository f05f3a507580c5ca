"""What an erasure needs: a count for each project, searches by name as rows, and events without free text."""

from importlib import import_module

from django.contrib.sessions.backends.db import SessionStore
from django.db import migrations, models

guards = import_module("annotations.migrations.earlier.0002_events_append_only")

BATCH = 1000
MODELS = ("run", "refined")
# What somebody worded, by the verb of the event. It is kept where it belongs, and shown from there.
DROPPED = {
    "gold.frozen": ["reason"],
    "gold.split": ["seed"],
    "file.downloaded": ["name"],
    "model.trained": ["model"],
    "model.uploaded": ["model"],
    "model.renamed": ["from", "to"],
    "model.retired": ["model"],
    "run.started": ["run", "model"],
    "set.seeded": ["run"],
    "notes.imported": ["as"],
    "notes.exported": ["set", "split"],
    "label.changed": ["before", "after"],
}


def without_free_text(verb, data, author_of):
    """An event's data as it is written from now on; `author_of(kinds, name)` gives an id or None."""
    kept = {key: value for key, value in data.items() if key not in DROPPED[verb]}
    if verb in ("run.started", "set.seeded"):
        return kept | {"author": data.get("author") or author_of(MODELS, data.get("run"))}
    if verb in ("notes.imported", "notes.exported"):
        return kept | _of_author(data, "as" if verb == "notes.imported" else "set", author_of) | _of_split(data)
    if verb == "label.changed":
        return kept | _of_label(data)
    return kept


def _of_author(data, key, author_of):
    kind, _, name = str(data.get(key) or "").partition(":")
    if kind == "gold" and name.isdecimal():
        return {key: f"{kind}:{name}"}
    found = data.get("author") or (author_of((kind,), name) if name else None)
    return {key: kind} | ({"author": found} if found else {})


def _of_split(data):
    split = data.get("split")
    return {"split": {key: split.get(key) for key in ("shares", "layout")}} if isinstance(split, dict) else {}


def _of_label(data):
    told = {"fields": sorted(data.get("fields") or data.get("before") or {})}
    for key in ("before", "after"):
        words = {field: value for field, value in (data.get(key) or {}).items() if field != "description"}
        told |= {key: words} if words else {}
    return told


def clean_events(apps, schema_editor):
    events = apps.get_model("annotations", "Event")
    authors = apps.get_model("annotations", "Author")
    rows = models.QuerySet(events, using=schema_editor.connection.alias).filter(verb__in=list(DROPPED))
    if not rows.exists():
        return
    guards.unguard(apps, schema_editor)
    last = 0
    while batch := list(rows.filter(pk__gt=last).order_by("pk")[:BATCH]):
        for event in batch:

            def author_of(kinds, name, project=event.project_id):
                found = authors.objects.filter(project_id=project, kind__in=kinds, name=name)
                return found.values_list("pk", flat=True).first()

            event.data = without_free_text(event.verb, event.data, author_of)
        rows.bulk_update(batch, ["data"])
        last = batch[-1].pk
    guards.guard(apps, schema_editor)


def clean_sessions(apps, schema_editor):
    """Names of notes that were searched for; they are rows of their own now."""
    store = SessionStore()
    for session in apps.get_model("sessions", "Session").objects.all():
        data = store.decode(session.session_data)
        if "note_searches" in data or "_messages" in data:
            data.pop("note_searches", None)
            data.pop("_messages", None)
            session.session_data = store.encode(data)
            session.save(update_fields=["session_data"])


class Migration(migrations.Migration):
    dependencies = [("annotations", "0020_former_readers"), ("sessions", "0001_initial")]
    operations = [
        migrations.AddField(
            "project",
            "erasures",
            models.PositiveIntegerField(
                default=0, help_text="How many times a patient was erased in this project."
            ),
        ),
        migrations.AddField(
            "search",
            "kind",
            models.CharField(
                choices=[("text", "In the text of the notes"), ("name", "In the names of the notes")],
                default="text",
                max_length=4,
            ),
        ),
        migrations.AlterField("search", "text", models.CharField(max_length=255)),
        migrations.RunPython(clean_events, migrations.RunPython.noop),
        migrations.RunPython(clean_sessions, migrations.RunPython.noop),
    ]
