"""What the tools over MCP can reach: no other project, no file and no network, whatever a client sends."""

import json
import sys
import threading
from functools import cache

import pytest

from annotations.core.api.tokens import create_token
from annotations.models import Author, Event, Project, Span
from models_runtime.backends.rules.phrases import is_clinical_word
from models_runtime.models import RefinedItem, Refinement
from models_runtime.refining.services.clients import TOOLS, call
from models_runtime.refining.services.refining import start_refinement
from tests import factories as make

SECRET = "Segreto Rossetti"
WATCHED = ("open", "os.", "shutil.", "socket.", "subprocess.", "urllib.", "ctypes.", "http.", "ftplib.", "import")
_watching: list[tuple[str, str]] | None = None


def _hook(event: str, arguments: object) -> None:
    if _watching is not None and event.startswith(WATCHED) and threading.current_thread() is threading.main_thread():
        _watching.append((event, str(arguments)[:200]))


@cache
def _add_hook() -> None:
    """Add the hook once: it can't be removed, only switched off."""
    sys.addaudithook(_hook)


@pytest.fixture
def watched():
    """Files that this thread opens, connections and programs that it starts, by Python's audit events."""
    _add_hook()
    seen: list[tuple[str, str]] = []

    def watch(act):
        global _watching
        _watching = seen
        try:
            return act()
        finally:
            _watching = None

    watch.seen = seen
    return watch


@pytest.fixture
def world(ward, tmp_path):
    """Refinements by clients in three projects. mia may reach the first one, which lets clients read notes."""
    file = tmp_path / "note.txt"
    file.write_text(SECRET)
    Project.objects.filter(pk=ward.project.pk).update(mcp_clients=True)
    closed, foreign = make.make_project("closed"), make.make_project("foreign")
    make.make_member(closed, "manager", ward.mia)
    Project.objects.filter(pk=foreign.pk).update(mcp_clients=True)
    others = {}
    for project in (closed, foreign):
        run = make.make_author(project, kind="run", name=f"run-{project.slug}")
        note = make.make_note(project, f"{SECRET} sta bene.", f"{project.slug}-1", patient_id="p0")
        make.make_set(note, run, [(0, len(SECRET), "PATIENT")], submitted=True)
        row = start_refinement(project=project, source=run.name, method="external", actor=None, key=f"k-{project.slug}")
        others[project.slug] = (project, run, note, row)
    own = start_refinement(project=ward.project, source="wide", method="external", actor=ward.mia, key="k")
    token, _secret = create_token(user=ward.mia, name="t", scope="manage", days=1, project=None, actor=ward.mia)
    ward.others, ward.row, ward.token, ward.file = others, own, token, file
    return ward


def valid(world):
    """A value of each argument with which the tools work."""
    return {
        "project": "ward", "run": "wide", "refinement": world.row.pk, "note": world.notes[0].pk, "number": 1,
        "reason": "Because.", "name": "names-people", "label": "DOCTOR", "text": "Anna", "first": 1, "state": "all",
        "before": 2, "after": 2, "start": 10, "end": 14, "key": "k",
    }  # fmt: skip


def hostile(world, kind):
    """Values of a client that wants more: names and numbers of other projects, paths and addresses."""
    found = []
    for project, run, note, row in world.others.values():
        found += [note.pk, row.pk, project.slug, run.name]
    found += [f"ward/../{project.slug}", str(world.file), "http://127.0.0.1:9/", "' OR 1=1 --", "\0"]
    return [one for one in found if isinstance(one, int) == (kind == "integer")]


def state_of(world):
    """What stands in the projects that the token does not reach."""
    rows = []
    for project, *_ in world.others.values():
        rows += [
            list(Author.objects.filter(project=project).order_by("pk").values_list("pk", "name")),
            list(Refinement.objects.filter(project=project).order_by("pk").values()),
            list(RefinedItem.objects.filter(refinement__project=project).values()),
            list(Span.objects.filter(annotation_set__author__project=project).order_by("pk").values()),
            Event.objects.filter(project_id=project.pk).count(),
        ]
    return rows


def test_no_tool_reaches_another_project_a_file_or_the_network(world, watched):
    before, calls, answered = state_of(world), 0, set()
    is_clinical_word("a")  # reads its list once
    for tool in sorted(TOOLS, key=lambda tool: tool.name == "finish"):
        usual = {one.name: valid(world)[one.name] for one in tool.arguments}
        if tool.name == "change_ends":
            del usual["text"]
        call(world.token, tool.name, usual)  # reads the package's own files for the first time
        tried = [usual]
        for argument in tool.arguments:
            tried += [usual | {argument.name: value} for value in hostile(world, argument.kind)]
        tried += [usual | {name: str(world.file)} for name in ("path", "url", "file", "sql")]
        for arguments in tried:
            answer = watched(lambda tool=tool, arguments=arguments: call(world.token, tool.name, arguments))
            calls += 1
            assert SECRET not in json.dumps(answer, ensure_ascii=False), (tool.name, arguments)
            if "refused" not in answer:
                answered.add(tool.name)
    assert watched.seen == []
    watched(world.file.read_text)
    assert "open" in [event for event, _ in watched.seen], "the watch notices what the tools must not do"
    assert state_of(world) == before and calls > 150 and answered == {tool.name for tool in TOOLS}
