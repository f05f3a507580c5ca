from typing import Any, Final

from django.core.management.base import CommandParser

from annotations.core.access import Access, Can
from annotations.core.commands import JourneyCommand, entered, find_project, words_or_input
from annotations.core.errors import ServiceError
from annotations.models import SurrogateEntity, User
from annotations.release.selectors.surrogates import (
    KIND_NAMES,
    MOST_FOUND,
    STATES,
    Shown,
    entities_of,
    found_by,
    mention_lines,
    shown,
)
from annotations.release.services.surrogates import editing
from annotations.text.numbers import MAX_ID, whole

LISTED: Final = 500
ENTITY: Final = "ID or ID:VERSION"


class Command(JourneyCommand):
    help = (
        "List the entities of the index of surrogates, show one with its mentions, or edit them: merge, split, lock, "
        "replace. An entity is named by its ID; with ID:VERSION, nothing changes if somebody has edited it since. "
        "Prepared releases keep their texts. --by must name a manager."
    )
    needs = None

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="Short name of the project.")
        parser.add_argument("--kind", choices=list(map(str, KIND_NAMES)), default="", help="List only this kind.")
        parser.add_argument("--state", choices=STATES, default="all", help="List only locked or edited entities.")
        act = parser.add_mutually_exclusive_group()
        act.add_argument(
            "--find",
            metavar="TEXT",
            help="List those with this name, part of a name, or surrogate; - reads it from stdin.",
        )
        act.add_argument("--show", metavar="ENTITY", help="Show an entity with its mentions, which counts as reading.")
        act.add_argument("--merge", metavar="ENTITY", nargs="+", help="Make one entity of several.")
        act.add_argument("--split", metavar="ENTITY", help="Move the mentions --mention to a new entity.")
        act.add_argument("--lock", metavar="ENTITY", help="Lock an entity, so that nobody replaces its surrogate.")
        act.add_argument("--unlock", metavar="ENTITY", help="Unlock an entity.")
        act.add_argument("--replace", metavar="ENTITY", help="Give an entity the surrogate --text.")
        act.add_argument("--draw", metavar="ENTITY", help="Give an entity another surrogate, made by rules.")
        act.add_argument("--restore", metavar="ENTITY", help="Give an entity the surrogate from before.")
        parser.add_argument("--mention", type=int, nargs="+", default=[], metavar="ID", help="With --split: mentions.")
        parser.add_argument("--text", help="With --replace: the surrogate.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        access = entered(actor, find_project(options["project"]), Can.RELEASE)
        project = access.project
        if (options["text"] is not None) != (options["replace"] is not None):
            raise ServiceError("Use --text together with --replace.", code="text")
        if bool(options["mention"]) != (options["split"] is not None):
            raise ServiceError("Use --mention together with --split.", code="mention")
        if options["show"]:
            return _with_mentions(access, _entity(access, options["show"]).pk)
        if options["merge"]:
            rows = [_entity(access, word) for word in options["merge"]]
            versions = {row.pk: row.version for row in rows}
            kept = editing.merge(project=project, versions=versions, actor=access.user)
            return _listed(access, [kept])
        if options["split"]:
            row = _entity(access, options["split"])
            made = editing.split(
                project=project, entity=row.pk, version=row.version, mentions=options["mention"], actor=access.user
            )
            return _listed(access, [made])
        for act in ("lock", "unlock", "replace", "draw", "restore"):
            if options[act]:
                row = _entity(access, options[act])
                editing.change(
                    project=project, entity=row.pk, version=row.version, act=act, text=options["text"] or "",
                    actor=access.user,
                )  # fmt: skip
                return _listed(access, [row])
        if options["find"] is not None:
            return _listed(access, list(found_by(project, words_or_input(options["find"]))[:MOST_FOUND]))
        return _listed(access, list(entities_of(project, options["kind"], options["state"])[:LISTED]))

    def say(self, result: dict[str, Any]) -> str:
        lines = [_line(one) for one in result["entities"]]
        for one in result.get("mentions", []):
            sentence = " ".join(f"{one['before']}»{one['marked']}«{one['after']}".split())
            lines.append(f"  {one['id']}  {one['note']}  {one['start']}-{one['end']}: {sentence}")
        return "\n".join(lines) or "The index has no such entity."


def _entity(access: Access, word: str) -> SurrogateEntity:
    """Find an entity by ID or ID:VERSION. Raises ServiceError `entity`, or `changed` for another version."""
    name, colon, version = word.partition(":")
    pk = whole(name, MAX_ID)
    row = SurrogateEntity.objects.filter(project=access.project, pk=pk).first() if pk is not None else None
    if row is None:
        raise ServiceError(f"The index of “{access.project.slug}” has no entity “{word[:40]}”.", code="entity")
    if colon and version != str(row.version):
        raise ServiceError(
            f"Somebody has edited entity {row.pk} since version {version[:20]}; it is version {row.version} now. "
            "Nothing was changed.",
            code="changed",
        )
    return row


def _listed(access: Access, rows: list[SurrogateEntity]) -> dict[str, Any]:
    fresh = SurrogateEntity.objects.select_related("edited_by").in_bulk([row.pk for row in rows])
    found = shown(access, [fresh[row.pk] for row in rows])
    return {"entities": [_described(one) for one in found]}


def _with_mentions(access: Access, pk: int) -> dict[str, Any]:
    row = SurrogateEntity.objects.get(pk=pk)
    lines = mention_lines(access, list(row.mentions.order_by("document", "start")[:LISTED]))
    mentions = [
        {
            "id": line.mention.pk, "note": line.entry.name, "start": line.mention.start, "end": line.mention.end,
            "before": line.entry.before, "marked": line.entry.marked, "after": line.entry.after,
        }
        for line in lines
    ]  # fmt: skip
    return _listed(access, [row]) | {"mentions": mentions}


def _described(one: Shown) -> dict[str, Any]:
    row = one.row
    return {
        "id": row.pk, "version": row.version, "kind": row.kind, "whose": one.whose, "mentions": one.mentions,
        "forms": [{"original": f.original, "surrogate": f.written, "mentions": f.mentions} for f in one.forms],
        "locked": row.locked, "restorable": one.restorable, "made_by": row.made_by,
        "edited_by": row.edited_by.username if row.edited_by else None,
        "edited_at": row.edited_at.isoformat(timespec="seconds") if row.edited_at else None,
    }  # fmt: skip


def _line(row: dict[str, Any]) -> str:
    forms = ", ".join(f"{form['original']} → {form['surrogate']} ({form['mentions']})" for form in row["forms"])
    whose = f" of {row['whose']}" if row["whose"] else ""
    locked = ", locked" if row["locked"] else ""
    return f"{row['id']}:{row['version']}  {row['kind']}{whose}{locked}: {forms}"
