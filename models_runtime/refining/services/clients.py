"""What a client over MCP can do: start a refinement, and decide about its notes with the tools of the agent.

Each call has the rights of the person of its API token, and reaches projects that let MCP clients read notes. It starts
no job and opens no file or connection. A decision is kept at once; the next call begins with the kept list, whoever
decided. Answers are JSON objects.
"""

import hashlib
import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404
from django.utils.translation import gettext as _

from annotations.core import access
from annotations.core.access import Access, Can
from annotations.core.api.routes import Scope
from annotations.core.services import NOTE_READ, ProjectArchived, ServiceError, hold, keep_labels
from annotations.jobs.registry import load
from annotations.models import AnnotationSet, AnnotationSetState, ApiToken, Document
from annotations.text.names import MAX_ID
from models_runtime.backends.refining import tools
from models_runtime.backends.refining.state import RefinementState
from models_runtime.backends.refining.todo import DecisionRefused, Todo
from models_runtime.backends.refining.tools import Argument, checked, schema
from models_runtime.models import Refinement
from models_runtime.refining.events import REFINEMENT_DECIDED, REFINEMENT_NOTE_FINISHED
from models_runtime.refining.jobs import keeping
from models_runtime.refining.selectors import skills_of
from models_runtime.refining.services.refining import start_refinement

Answer = dict[str, Any]
MOST_ROWS: Final = 100
"""Refinements or notes in one answer."""
_TEXTLESS: Final = frozenset({"load_skill", "finish"})
"""The tools of the agent whose answers hold no text of the note."""


@dataclass(frozen=True, slots=True)
class ClientTool:
    """A tool that clients see. `schema` is the JSON schema of its arguments. `changes`: it writes to the database."""

    name: str
    description: str
    arguments: tuple[Argument, ...]
    changes: bool
    run: Callable[[ApiToken, dict[str, Any]], Answer]

    def schema(self) -> dict[str, Any]:
        return schema(self.arguments)


def call(token: ApiToken, name: str, arguments: object) -> Answer:
    """Call a tool as the token's person. An impossible call gives `{"refused": "…"}`, with a sentence."""
    try:
        tool = next((tool for tool in TOOLS if tool.name == name), None)
        if tool is None:
            raise DecisionRefused(f"There is no tool “{name[:40]}”. Tools: {', '.join(tool.name for tool in TOOLS)}.")
        return tool.run(token, checked(tool.arguments, arguments))
    except (DecisionRefused, ServiceError, ProjectArchived, access.SecondFactorMissing) as error:
        return {"refused": str(error)}
    except Http404:
        return {"refused": _("Nothing with this name or number exists, or you don't have access to it.")}
    except PermissionDenied:
        return {"refused": _("Your role in this project does not include managing refinements.")}


def _entered(token: ApiToken, slug: str, *, changes: bool) -> Access:
    """The project for the token's person. Raises Http404, PermissionDenied, and ServiceError `scope` and `mcp`."""
    found = access.enter(token.user, slug, Can.MANAGE, only=token.project_id)
    if changes and token.scope != Scope.MANAGE:
        raise ServiceError(_("This tool needs a token with the scope “manage”."), code="scope")
    if not found.project.mcp_clients:
        message = _("This project lets no MCP client read notes. A manager can allow it on the page “Settings”.")
        raise ServiceError(message, code="mcp")
    return found


def _refinement(token: ApiToken, number: int, *, changes: bool) -> Refinement:
    """A refinement by clients in a project that the token reaches. Raises as `_entered` does."""
    row = Refinement.objects.select_related("project__label_set", "source", "author").filter(pk=number).first()
    if row is None:
        raise Http404("This refinement does not exist.")
    _entered(token, row.project.slug, changes=changes)
    if row.method != Refinement.Method.EXTERNAL:
        raise ServiceError(_("A job makes this refinement. Start one with start_refinement."), code="method")
    return row


def _start(token: ApiToken, given: dict[str, Any]) -> Answer:
    found = _entered(token, given["project"], changes=True)
    name = given.get("name", "")
    asked = json.dumps([found.project.pk, token.user_id, given["run"], name, given.get("key") or uuid.uuid4().hex])
    row = start_refinement(
        project=found.project, source=given["run"], method=Refinement.Method.EXTERNAL, actor=token.user, name=name,
        key=hashlib.sha256(asked.encode()).hexdigest(),
    )  # fmt: skip
    return _row(row)


def _refinements(token: ApiToken, given: dict[str, Any]) -> Answer:
    found = _entered(token, given["project"], changes=False)
    rows = Refinement.objects.filter(project=found.project, method=Refinement.Method.EXTERNAL)
    return {"refinements": [_row(row) for row in rows.select_related("source", "author")[:MOST_ROWS]]}


def _row(row: Refinement) -> Answer:
    notes = keeping.count_of_source(row)
    waiting = keeping.waiting(row).count()
    return {
        "refinement": row.pk,
        "name": row.author.name,
        "run": row.source.name,
        "notes": notes,
        "unfinished": waiting,
    }


def _notes(token: ApiToken, given: dict[str, Any]) -> Answer:
    row = _refinement(token, given["refinement"], changes=False)
    rows = keeping.waiting(row).filter(document__gte=given.get("first", 1)).order_by("document_id")
    found = list(rows.values_list("document_id", "document__name")[: MOST_ROWS + 1])
    shown = [{"note": pk, "name": name} for pk, name in found[:MOST_ROWS]]
    return {"notes": shown} | ({"next": found[MOST_ROWS][0]} if len(found) > MOST_ROWS else {})


def _of_note(tool: tools.Tool) -> Callable[[ApiToken, dict[str, Any]], Answer]:
    """The agent's tool as one that takes the refinement and the note, and keeps what it decides."""
    writes = tool.changes or tool.name == "finish"

    def run(token: ApiToken, given: dict[str, Any]) -> Answer:
        row = _refinement(token, given["refinement"], changes=writes)
        note = _note(row, given["note"])
        own = {name: value for name, value in given.items() if name not in ("refinement", "note")}
        if writes:
            return _change(token, row, note, tool.name, own)
        todo = keeping.load(row, note.pk) or keeping.begin(row, note.pk)
        _after, answer = tools.call(_state(row, note, todo), tool.name, own)
        if tool.name not in _TEXTLESS:
            _record_read(token, note)
        return answer

    return run


def _change(token: ApiToken, row: Refinement, note: Document, name: str, given: Mapping[str, Any]) -> Answer:
    """Decide, or finish the note. The list is read and written in one transaction, so that clients take turns."""
    with transaction.atomic():
        keep_labels(row.project_id)
        hold(row.project_id)
        list(Refinement.objects.select_for_update().filter(pk=row.pk).values_list("pk"))
        if AnnotationSet.objects.filter(author=row.author, document=note).exists():
            raise ServiceError(_("This note is finished. Reviewers decide about its annotations now."), code="finished")
        before = keeping.begin(row, note.pk)
        after, answer = tools.call(_state(row, note, before), name, given)
        if "refused" in answer:
            return answer
        if after.finished:
            keeping.finish(row, note.pk, after.todo)
            REFINEMENT_NOTE_FINISHED.record(
                actor=token.user, project_id=row.project_id, document_id=note.pk, data={"refinement": row.pk}
            )
        elif name != "finish":
            changed = after.todo.item(given["number"])
            keeping.keep(row, note.pk, [changed])
            REFINEMENT_DECIDED.record(
                actor=token.user, project_id=row.project_id, document_id=note.pk,
                data={
                    "refinement": row.pk, "number": changed.number,
                    "action": str(changed.decision.action) if changed.decision else "",
                },
            )  # fmt: skip
            _record_read(token, note)
    return answer


def _note(row: Refinement, number: int) -> Document:
    """A note that the source annotated. Raises Http404, also for notes of other projects."""
    annotated = AnnotationSet.objects.filter(author=row.source, state=AnnotationSetState.SUBMITTED)
    note = Document.objects.filter(
        pk=number, project=row.project_id, pk__in=annotated.filter(document=number).values("document")
    ).first()
    if note is None:
        raise Http404("The source has not annotated this note.")
    return note


def _state(row: Refinement, note: Document, todo: Todo | None) -> RefinementState:
    if todo is None:  # Erased meanwhile.
        raise Http404("This note does not exist.")
    skills = skills_of(row.project, note.language)
    return RefinementState.of(
        todo, skills=skills, validate=load("models_runtime.backends.refining.validators.validate")
    )


def _record_read(token: ApiToken, note: Document) -> None:
    NOTE_READ.record(actor=token.user, note=note, data={"what": "refinement over MCP"})


def _tool_of_note(tool: tools.Tool) -> ClientTool:
    """The agent's tool for clients. They name the annotation in every call, since clients may work side by side."""
    own = [
        replace(one, required=True, description="Number of the annotation in the list.")
        if one.name == "number"
        else one
        for one in tool.arguments
    ]
    arguments = (_REFINEMENT, _NOTE, *own)
    return ClientTool(tool.name, tool.description, arguments, tool.changes or tool.name == "finish", _of_note(tool))


_PROJECT: Final = Argument("project", "string", "Short name of the project.", required=True)
_REFINEMENT: Final = Argument("refinement", "integer", "Number of the refinement.", required=True, least=1, most=MAX_ID)
_NOTE: Final = Argument("note", "integer", "Number of the note, from list_notes.", required=True, least=1, most=MAX_ID)

TOOLS: Final = (
    ClientTool(
        "list_refinements",
        "List the refinements of a project that clients decide about.",
        (_PROJECT,),
        changes=False,
        run=_refinements,
    ),
    ClientTool(
        "start_refinement",
        "Start a refinement of a run's annotations. You decide about each annotation. The result is suggestions.",
        (
            _PROJECT,
            Argument("run", "string", "Name of a run, a merged list, or a run of injected errors.", required=True),
            Argument("name", "string", "Name of the result. Default: RUN-external-1 and so on."),
            Argument("key", "string", "Any text. If you repeat a call with it, the same refinement is returned."),
        ),
        changes=True,
        run=_start,
    ),
    ClientTool(
        "list_notes",
        "List the notes of a refinement that are not finished.",
        (_REFINEMENT, Argument("first", "integer", "The note to begin with.", least=1, most=MAX_ID)),
        changes=False,
        run=_notes,
    ),
    *(_tool_of_note(tool) for tool in tools.TOOLS),
)
"""All tools, in the order in which they are offered."""
