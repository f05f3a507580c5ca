from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Access, Can
from annotations.core.commands import JourneyCommand, entered, find_note, find_project
from annotations.core.errors import ServiceError
from annotations.models import AnnotationSet, Author, Document, User
from annotations.notes.selectors.comments import ThreadItem, threads
from annotations.notes.services.comments import (
    About,
    add_comment,
    annotator_of_set,
    answer,
    delete_comment,
    edit_comment,
    record_outcome_seen,
    resolve,
)
from annotations.text.numbers import MAX_ID, MAX_OFFSET


class Command(JourneyCommand):
    help = (
        "List the comments of a note that the person of --by may see, or start, answer, change, resolve or reopen one. "
        "export_comments writes all comments of a project."
    )
    needs = None

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="Short name of the project.")
        parser.add_argument("note", metavar="NOTE", help="Name of a note that the person may open.")
        act = parser.add_mutually_exclusive_group()
        act.add_argument("--add", metavar="TEXT", help="Start a thread.")
        act.add_argument("--answer", type=int, metavar="ID", help="Answer a comment with --text.")
        act.add_argument("--edit", type=int, metavar="ID", help="Change one's own comment to --text.")
        act.add_argument("--delete", type=int, metavar="ID", help="Delete one's own comment.")
        act.add_argument("--resolve", type=int, metavar="ID", help="Mark a thread as resolved.")
        act.add_argument("--reopen", type=int, metavar="ID", help="Make a resolved thread open again.")
        parser.add_argument("--text", help="Text for --answer and --edit.")
        parser.add_argument("--start", type=int, help="With --add: first code point of the place in the note.")
        parser.add_argument("--end", type=int, help="With --add: end of the place, not included.")
        parser.add_argument(
            "--annotator", metavar="NAME",
            help="With --add: the annotator whose annotations it is about. What annotators write is always about their "
            "own.",
        )  # fmt: skip

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"])
        ids = [options[name] for name in ("answer", "edit", "delete", "resolve", "reopen") if options[name] is not None]
        changes = options["add"] is not None or bool(ids)
        access = entered(actor, project, Can.ANNOTATE if changes else Can.SEE_PROJECT)
        _check_options(options, ids)
        note = find_note(access, options["note"])
        if options["add"] is not None:
            about = About(_annotator(access, note, options["annotator"]), None, options["start"], options["end"])
            add_comment(access=access, document=note, about=about, text=options["add"])
        elif options["answer"] is not None:
            answer(access=access, document=note, thread=options["answer"], text=options["text"])
        elif options["edit"] is not None:
            edit_comment(access=access, document=note, comment=options["edit"], text=options["text"])
        elif options["delete"] is not None:
            delete_comment(access=access, document=note, comment=options["delete"])
        elif ids:
            resolve(access=access, document=note, thread=ids[0], resolved=options["resolve"] is not None)
        found = threads(access, note)
        record_outcome_seen(access=access, document=note, shown=found)
        return {"note": note.name, "threads": found}

    def say(self, result: dict[str, Any]) -> str:
        lines = [line for thread in result["threads"] for line in _lines(thread)]
        return "\n".join(lines) or "There are no comments."


def _check_options(options: dict[str, Any], ids: list[int]) -> None:
    if any(not 0 < pk <= MAX_ID for pk in ids):
        raise ServiceError("There is no such comment. List them without options.", code="comment")
    if (options["text"] is not None) != (options["answer"] is not None or options["edit"] is not None):
        raise ServiceError("--text must be used with --answer ID or --edit ID.", code="text")
    where = [options[name] for name in ("start", "end") if options[name] is not None]
    if len(where) == 1 or any(not 0 <= place <= MAX_OFFSET for place in where):
        raise ServiceError("Give --start and --end together, in code points of the note.", code="location")
    if options["add"] is None and (where or options["annotator"]):
        raise ServiceError("--start, --end and --annotator must be used with --add TEXT.", code="location")


def _annotator(access: Access, note: Document, name: str | None) -> int | None:
    """The user id of the annotator whom a comment is about, as the note's page chooses; None: the note itself."""
    if access.blind:
        return access.user.pk
    if name is None:
        return None
    sets = AnnotationSet.objects.filter(document=note, author__kind=Author.Kind.ANNOTATOR, author__name=name)
    found = None if access.unnamed else sets.values_list("pk", flat=True).first()
    if found is None:
        raise ServiceError(f"This note has no annotations of “{name[:80]}”.", code="annotator")
    return annotator_of_set(access, note, found)


def _lines(thread: ThreadItem) -> list[str]:
    where = "the note" if thread["start"] is None else f"{thread['start']}-{thread['end']}"
    resolved = f", resolved by {thread['resolved']}" if thread["resolved"] else ""
    return [
        f"{thread['id']}  {thread['author']} on {where}{resolved}: {thread['text']}",
        *(f"    {each['id']}  {each['author']}: {each['text']}" for each in thread["answers"]),
    ]
