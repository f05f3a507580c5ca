from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Access, Can
from annotations.core.commands import JourneyCommand, entered, find_label, find_project
from annotations.core.errors import ServiceError
from annotations.models import AuditNote, AuditPlan, User
from annotations.release.rules.audits.shown import Kind, Shown
from annotations.release.selectors.audits import audit_numbered
from annotations.release.services.audits import reading
from annotations.release.services.audits.showing import progress_of, show_note
from annotations.text.numbers import MAX_OFFSET


class Command(JourneyCommand):
    help = (
        "Read the notes of an audit one by one, as they are released: take the next note, mark leaks in it, finish it. "
        "Without options, show the note that the person of --by reads. The audit log records each note."
    )
    needs = None

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="Short name of the project.")
        parser.add_argument("release", metavar="NUMBER", type=int, help="Number of the release.")
        act = parser.add_mutually_exclusive_group()
        act.add_argument("--next", action="store_true", help="Take the next note, or go on with the one begun.")
        act.add_argument(
            "--mark", nargs=3, metavar=("START", "END", "LABEL"),
            help="Mark a leak: first code point and end (not included) in the shown text, and a label.",
        )  # fmt: skip
        act.add_argument("--unmark", type=int, metavar="ID", help="Remove a mark.")
        act.add_argument("--finish", action="store_true", help="Finish the note.")
        act.add_argument("--reopen", action="store_true", help="Reopen the note that the person finished last.")
        act.add_argument("--progress", action="store_true", help="Show how far the audit is, and no note.")
        parser.add_argument(
            "--note", type=int, metavar="N",
            help="The number of the note, for --mark, --unmark and --finish, so that they change no other note.",
        )  # fmt: skip

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        access = entered(actor, find_project(options["project"]), Can.AUDIT_RELEASES)
        plan = audit_numbered(access.project, options["release"])
        changes = options["mark"] or options["unmark"] is not None or options["finish"]
        if bool(changes) != (options["note"] is not None):
            raise ServiceError("Use --note N together with --mark, --unmark or --finish.", code="note")
        if options["next"] and reading.next_note(plan=plan, user=access.user) is None:
            raise ServiceError("No note is left to read. Others may still read theirs.", code="none-left")
        if options["reopen"]:
            reading.reopen(plan=plan, user=access.user)
        if changes:
            _change(access, plan, options)
        if options["finish"] or options["progress"]:
            return _progress(access, plan)
        found = show_note(plan=plan, user=access.user)
        if found is None:
            raise ServiceError("You read no note of this audit. Take one with --next.", code="none-begun")
        return _described(access, *found)

    def say(self, result: dict[str, Any]) -> str:
        if "mine" in result:
            state = "open" if result["open"] else "closed"
            return f"The audit of release {result['release']} is {state}. You have read {result['mine']} notes."
        lines = [f"Note {result['note']}:", result["text"], ""]
        lines += [f"{part['kind']} {part['start']}-{part['end']} {part['label']}" for part in result["parts"]]
        lines += [f"mark {mark['id']} {mark['start']}-{mark['end']} {mark['label']}" for mark in result["marks"]]
        return "\n".join(lines)


def _change(access: Access, plan: AuditPlan, options: dict[str, Any]) -> None:
    row = reading.note_of(plan, options["note"], access.user) if 0 <= options["note"] <= MAX_OFFSET else None
    if row is None:
        raise ServiceError("This note is no longer yours to read. Read the next.", code="gone")
    if options["mark"]:
        start, end, label = options["mark"]
        code = find_label(access.project, label).code
        reading.mark(note=row, start=_offset(start), end=_offset(end), label=code, user=access.user)
    elif options["finish"]:
        reading.finish(note=row, user=access.user)
    elif not row.marks.filter(pk=options["unmark"]).exists():
        raise ServiceError(f"Note {row.position} has no mark {options['unmark']}.", code="mark")
    else:
        reading.unmark(note=row, mark=options["unmark"], user=access.user)


def _offset(word: str) -> int:
    if not word.isdecimal() or len(word) > 9:
        raise ServiceError(f"“{word[:40]}” is not an offset. Write --mark START END LABEL.", code="bounds")
    return int(word)


def _progress(access: Access, plan: AuditPlan) -> dict[str, Any]:
    plan.refresh_from_db()
    return {"release": plan.release.number, "state": plan.state} | asdict(progress_of(access, plan))


def _described(access: Access, row: AuditNote, shown: Shown) -> dict[str, Any]:
    marks = []
    for mark in row.marks.order_by("pk"):
        start, end = shown.to_shown(mark.start, mark.end)
        marks.append({"id": mark.pk, "start": start, "end": end, "label": mark.label})
    return {
        "note": row.position,
        "language": row.note.document.language or access.project.language,
        "text": shown.text,
        "parts": [
            {"start": part.start, "end": part.end, "kind": str(part.kind), "label": part.label}
            for part in shown.parts
            if part.kind != Kind.SAME and part.start < part.end
        ],
        "marks": marks,
    }
