import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.db import transaction

from annotations.core.commands import JourneyCommand
from annotations.core.services import ServiceError
from annotations.exchange.services.importing import import_files
from annotations.gold.services.making import freeze
from annotations.models import Project, Role, User
from annotations.projects.services.members import add_member, create_user
from annotations.projects.services.projects import create_project, set_guidelines

# The password is public on purpose: the demo runs on a loopback address only, and `make run` prints the password.
PASSWORD = "demo-password"  # noqa: S105
PEOPLE = {
    "manager": Role.MANAGER,
    "reviewer": Role.REVIEWER,
    "anna": Role.ANNOTATOR,
    "bruno": Role.ANNOTATOR,
    "carla": Role.ANNOTATOR,
    "viewer": Role.VIEWER,
}


class Command(JourneyCommand):
    help = (
        "Create the demo project: invented notes, three annotators who disagree, some gold. "
        "Does nothing if the project exists."
    )

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--slug", default="demo")

    @transaction.atomic
    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        if not settings.DEMO:
            raise ServiceError(
                "The demo is not allowed here, because its passwords are public. Set DEIDREVIEW_DEMO=1 to allow it.",
                code="demo",
            )
        if Project.objects.filter(slug=options["slug"]).exists():
            return {"project": options["slug"], "created": False, "notes": 0}
        known = set(User.objects.filter(username__in=PEOPLE).values_list("username", flat=True))
        people = {name: _person(name) for name in PEOPLE}
        manager = people["manager"]
        project = create_project(
            name="Demo: three wards and a court", slug=options["slug"], label_set_key="i2b2-2014", manager=manager
        )
        User.objects.filter(username__in=set(PEOPLE) - known).update(created_in=project)
        folder = Path(settings.FIXTURES_DIR, "demo")
        guidelines = folder / "guidelines.md"
        if guidelines.is_file():
            set_guidelines(project=project, text=guidelines.read_text(encoding="utf-8"), actor=manager)
        for name, role in PEOPLE.items():
            if role != Role.MANAGER:
                add_member(project=project, user=people[name], role=role, actor=manager)
        notes = _import_notes(project, folder, manager)
        for person in ("anna", "bruno", "carla"):
            _import_sets(project, folder, person, f"annotator:{person}", manager)
        _import_sets(project, folder, "gold", "gold", manager)
        freeze(project=project, actor=manager, reason="First notes agreed by all three")
        return {"project": project.slug, "created": True, "notes": notes}

    def say(self, result: dict[str, Any]) -> str:
        return f"Created the demo project with {result['notes']} notes." if result["created"] else ""


def _person(name: str) -> User:
    return User.objects.filter(username=name).first() or create_user(username=name, password=PASSWORD)


def _import_notes(project: Project, folder: Path, manager: User) -> int:
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["notes"]
    imported = 0
    for language in sorted({note["language"] for note in manifest}):
        notes = [note for note in manifest if note["language"] == language]
        report = import_files(
            project=project,
            files=[(f"{note['name']}.txt", (folder / "notes" / f"{note['name']}.txt").read_bytes()) for note in notes],
            format="text",
            language=language,
            patients={note["name"]: note.get("patient_id", "") for note in notes},
            actor=manager,
        )
        _check_complete(report)
        imported += report["notes"]
    return imported


def _import_sets(project: Project, folder: Path, author: str, written_as: str, manager: User) -> None:
    files = []
    for file in sorted((folder / "sets" / author).glob("*.ann")):
        files.append((file.name, file.read_bytes()))
        files.append((f"{file.stem}.txt", (folder / "notes" / f"{file.stem}.txt").read_bytes()))
    _check_complete(import_files(project=project, files=files, format="brat", written_as=written_as, actor=manager))


def _check_complete(report: dict[str, Any]) -> None:
    if report["refused"]:
        first = report["refused"][0]
        raise ServiceError(
            f"The demo's files are damaged: {first['file']}: {first['message']}. Restore the folder fixtures.",
            code="demo",
        )
