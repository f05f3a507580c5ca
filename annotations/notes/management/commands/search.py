from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Access, Can
from annotations.core.commands import JourneyCommand, entered, find_label, find_project, words_or_input
from annotations.core.errors import ServiceError
from annotations.models import User
from annotations.notes.selectors.searching import NoteHits, Options
from annotations.notes.services.searching import search_at_once
from annotations.text.numbers import MAX_ID


class Command(JourneyCommand):
    help = (
        "Search the texts of the notes that the person of --by may open. The audit log records which notes had hits, "
        "without the text that was searched for."
    )
    needs = None

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="Short name of the project.")
        parser.add_argument("text", metavar="TEXT", help="Text to search for. With “-”, read it from stdin.")
        parser.add_argument("--word", action="store_true", help="Whole words only.")
        parser.add_argument("--case", action="store_true", help="Match case.")
        parser.add_argument("--ignore-accents", action="store_true", help="With it, “jose” also finds “José”.")
        where = parser.add_mutually_exclusive_group()
        where.add_argument("--unmarked", action="store_true", help="Search only unmarked text.")
        where.add_argument("--label", metavar="CODE", help="Search only spans with this label.")
        parser.add_argument(
            "--gold", action="store_true", help="With --unmarked or --label: the spans of gold, not the person's own."
        )
        parser.add_argument("--notes", type=int, default=100, metavar="N", help="List at most N notes. Default: 100.")
        parser.add_argument("--after", type=int, default=0, metavar="ID", help="Go on after the note with this ID.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        access = entered(actor, find_project(options["project"]), Can.SEE_PROJECT)
        if options["notes"] < 1 or not 0 <= options["after"] <= MAX_ID:
            raise ServiceError("--notes must be 1 or more, and --after the ID of a note.", code="notes")
        wanted = Options(
            case=options["case"],
            accents=not options["ignore_accents"],
            word=options["word"],
            where="unlabeled" if options["unmarked"] else "label" if options["label"] else "all",
            label=find_label(access.project, options["label"]).pk if options["label"] else None,
            annotation_set="gold" if options["gold"] else "own",
        )
        return _found(access, words_or_input(options["text"]), wanted, options["after"], options["notes"])

    def say(self, result: dict[str, Any]) -> str:
        lines = [
            f"{note['name']}, line {hit['line']}: {_shown(hit)}" for note in result["notes"] for hit in note["hits"]
        ]
        more = f" Go on with --after {result['next']}." if result["next"] is not None else ""
        lines.append(f"Notes with hits: {len(result['notes'])}. Notes searched: {result['looked']}.{more}")
        return "\n".join(lines)


def _found(access: Access, text: str, wanted: Options, after: int, most: int) -> dict[str, Any]:
    """Search page by page, until there are `most` notes with hits."""
    notes: list[NoteHits] = []
    looked, place = 0, after
    while True:
        page = search_at_once(access=access, text=text, options=wanted, after=place)
        notes += page.notes
        looked += page.looked
        if page.next is None or len(notes) >= most:
            break
        place = page.next
    following = notes[most - 1].pk if len(notes) > most else page.next
    return {"notes": [_described(one) for one in notes[:most]], "looked": looked, "next": following}


def _described(one: NoteHits) -> dict[str, Any]:
    hits = [
        {name: getattr(hit, name) for name in ("start", "end", "line", "before", "found", "after")} for hit in one.hits
    ]
    return {"note": one.pk, "name": one.name, "count": one.count, "hits": hits}


def _shown(hit: dict[str, Any]) -> str:
    return " ".join(f"{hit['before']}»{hit['found']}«{hit['after']}".split())
