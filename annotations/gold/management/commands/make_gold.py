from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import ProjectCommand, check_shown, entered, progress_bar
from annotations.core.services import ServiceError
from annotations.gold.services.making import make_gold, make_gold_bulk
from annotations.gold.services.splitting import wanted_set
from annotations.models import AnnotationSet, Author, AuthorKind, Document, Project, User


def decider(actor: User | None, project: Project) -> User:
    """The person who decides on gold. Raises ServiceError `by` without one, and `access` without the right."""
    if actor is None:
        raise ServiceError("A person must decide on gold. Name the person with --by USER.", code="by")
    return entered(actor, project, Can.MAKE_GOLD).user


class Command(ProjectCommand):
    help = "Make the submitted annotations of one author gold. --by must name a reviewer or a manager."
    needs = None

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--set", required=True, help="Author: annotator:NAME. With --note also run:NAME.")
        parser.add_argument("--note", metavar="NAME", help="Only this note. By default all notes without gold.")
        parser.add_argument(
            "--replace", action="store_true", help="With --note: replace gold (the audit log keeps it)."
        )

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        actor = decider(actor, project)
        author = wanted_set(project, options["set"]).author
        if author is None or author.kind == AuthorKind.GOLD:
            raise ServiceError("--set must name the annotations of an annotator or a run.", code="set")
        check_shown(actor, project, author=author.pk)
        if options["note"]:
            return self._one(project, author, options["note"], actor, replace=options["replace"])
        with progress_bar("Making gold") as progress:
            return make_gold_bulk(project_id=project.pk, author_id=author.pk, actor_id=actor.pk, progress=progress)

    def _one(self, project: Project, author: Author, name: str, actor: User, *, replace: bool) -> dict[str, Any]:
        document = Document.objects.select_related("project").filter(project=project, name=name).first()
        annotation_set = AnnotationSet.objects.filter(document__name=name, author=author).first()
        if document is None or annotation_set is None:
            raise ServiceError(f"“{author.name}” has no annotations of a note “{name}”.", code="note")
        gold = make_gold(document=document, annotation_set=annotation_set, actor=actor, replace=replace)
        return {"made": 1, "kept": 0, "spans": gold.spans.count()}
