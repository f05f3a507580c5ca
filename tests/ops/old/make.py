"""Make `before_feature_folders.zip`, a backup by the version before each feature had a folder, with rows in all tables.

To make it again, with an environment that both versions can use (`.venv`):

    git worktree add /tmp/before fc25ad4
    cd /tmp/before && /path/to/.venv/bin/python /path/to/tests/ops/old/make.py NEW_FILE

The script runs the code of the current folder, not of its own. It imports eight notes of the demo, which are invented
and part of this repository under its license. The rules annotate them, gold is frozen and exported, and one run waits
for a worker. Each table that is still empty then gets one row with a plain value in each column; such rows are valid
for the table, but don't always fit together. That version's own `backup` command writes the backup.
"""

import json
import os
import shutil
import sys
import tempfile
import uuid
from pathlib import Path
from typing import Any

NOTES = 8
SECRET = "of-a-test-and-of-nothing-else-" * 2


def main(out: Path) -> None:
    """Write the backup to `out`, which must not exist."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "data")
        data.mkdir(mode=0o700)
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "deidreview.settings",
            "DEIDREVIEW_DATA": str(data),
            "DEIDREVIEW_DEMO": "1",
            "DEIDREVIEW_SECRET_KEY": SECRET,
        }
        sys.path.insert(0, str(Path.cwd()))
        import django
        from django.conf import settings
        from django.core.management import call_command

        django.setup()
        settings.FIXTURES_DIR = small_demo(Path(settings.FIXTURES_DIR), Path(folder, "fixtures"))
        call_command("migrate", verbosity=0)
        work()
        fill()
        call_command("backup", str(out))


def small_demo(fixtures: Path, copy: Path) -> Path:
    """Copy the fixtures with only the first NOTES notes of the demo."""
    shutil.copytree(fixtures, copy)
    manifest = copy / "demo" / "manifest.json"
    listed = json.loads(manifest.read_text())
    listed["notes"] = listed["notes"][:NOTES]
    manifest.write_text(json.dumps(listed))
    names = {note["name"] for note in listed["notes"]}
    for file in [*(copy / "demo").rglob("*.ann"), *(copy / "demo").rglob("*.txt")]:
        if file.stem not in names:
            file.unlink()
    return copy


def work() -> None:
    """Load the demo, finish a run of the rules and two exports, and leave one run waiting."""
    from annotations.models import Author, Project
    from models_runtime.runner import run
    from models_runtime.services import preparing
    from models_runtime.services.runs import start_run
    from models_runtime.services.starting import start_export

    preparing.load_demo(slug="demo", say=print)
    project = Project.objects.get()
    first = Author.objects.get(kind="run").run
    run(first.job_id)
    manager = project.created_by
    run(start_export(project=project, set_spec="gold", format="brat", actor=manager).pk)
    run(start_export(project=project, set_spec="gold:1", format="conll", actor=manager).pk)
    start_run(project=project, backend="rules", actor=manager, key="waiting")


def fill() -> None:
    """Insert one row into each empty table."""
    from django.apps import apps

    tables = [model for model in apps.get_models(include_auto_created=True) if model._meta.managed]
    empty = [model for model in tables if not model._default_manager.exists()]
    for _ in range(len(empty)):
        for model in list(empty):
            values = row_of(model)
            if values is not None:
                model._default_manager.bulk_create([model(**values)])
                empty.remove(model)
    if empty:
        raise SystemExit(f"no row could be made for {empty}")


def row_of(model: Any) -> dict[str, Any] | None:
    """Return the values of a new row, or None if a row to which it must refer does not exist yet."""
    values: dict[str, Any] = {}
    for field in model._meta.concrete_fields:
        if field.is_relation:
            target = field.related_model._default_manager.order_by("pk").first()
            # A row of usage belongs to a run, or to something else, not to both.
            optional = field.null and (target is None or (model.__name__ == "LlmUsage" and field.name != "run"))
            if target is None and not optional:
                return None
            if not optional:
                values[field.attname] = getattr(target, field.target_field.attname)
        elif not field.auto_created and not field.has_default():
            values[field.attname] = value_of(field)
    if model.__name__ == "Session":
        values["session_data"] = model.get_session_store_class()().encode(
            {"language": "it", "note_searches": ["Rossi"]}
        )
    return values


def value_of(field: Any) -> Any:
    """Return a value for a column, depending on its type."""
    from django.utils import timezone

    kind = field.get_internal_type()
    if field.choices:
        return field.choices[0][0]
    if "Integer" in kind or kind == "FloatField":
        return field.name == "end"
    if kind == "DecimalField":
        return 1
    if kind == "BooleanField":
        return True
    if kind == "JSONField":
        return []
    if kind == "BinaryField":
        return b"a"
    if kind == "UUIDField":
        return uuid.UUID(int=1)
    if kind == "GenericIPAddressField":
        return "127.0.0.1"
    if kind.startswith("Date"):
        return timezone.now()
    return "a"


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
