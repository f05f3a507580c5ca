"""The command `mcp` with the official SDK's client: over real stdio and a real port, with tokens of people."""

import asyncio
import json
import sqlite3
import sys
import uuid
from contextlib import asynccontextmanager, closing
from types import SimpleNamespace

import httpx2
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from tests.waiting import wait_for
from tests.worlds import warm
from tests.worlds.product import ROOT, clean_environ, free_port, own_database

pytestmark = [pytest.mark.product, pytest.mark.processes, pytest.mark.django_db]

# Two projects with a run each. Only the first one lets MCP clients read notes.
WORLD = """
import json
from annotations.core.api.tokens import create_token, revoke_token
from annotations.models import Project
from annotations.projects.services.projects import create_project
from tests import factories as make

text = "Paziente: Anna Rossi, 54 anni.\\nEmaturia di colore rosso, morbo di Crohn."
at = text.index("rosso")
suggested = [(10, 14, "DOCTOR"), (22, 24, "AGE"), (at, at + 5, "PATIENT")]
said = {}
people = {name: make.make_user(name) for name in ("mia", "rev")}
for slug in ("ward", "other"):
    project = create_project(name=slug, label_set_key="i2b2-2014", language="it")
    make.make_member(project, "manager", people["mia"])
    make.make_member(project, "reviewer", people["rev"])
    run = make.make_author(project, kind="run", name="wide")
    note = make.make_note(project, text, "caso-1", language="it")
    make.make_set(note, run, suggested, submitted=True)
    said[slug] = note.pk
Project.objects.filter(slug="ward").update(mcp_clients=True)
bound = Project.objects.get(slug="other")
for key, name, scope, only in (
    ("manager", "mia", "manage", None), ("reader", "mia", "read", None), ("reviewer", "rev", "manage", None),
    ("bound", "mia", "manage", bound), ("revoked", "mia", "manage", None),
):
    made, said[key] = create_token(user=people[name], name=key, scope=scope, days=1, project=only, actor=None)
revoke_token(token=made, actor=None)
print(json.dumps(said))
"""
LOOK = """
import json
from annotations.models import AnnotationSet, Event, Span
rows = Span.objects.filter(annotation_set__author__name="NAME").order_by("start")
events = Event.objects.filter(verb__startswith="refinement.")
print(json.dumps({
    "spans": list(rows.values_list("start", "end", "label__code")),
    "reasons": [row.provenance["refined"]["reason"] for row in rows],
    "sets": AnnotationSet.objects.filter(author__name="NAME", state="submitted").count(),
    "events": list(events.order_by("id").values_list("verb", "actor__username")),
    "reads": Event.objects.filter(verb="note.read", actor__username="mia").count(),
}))
"""
REVOKE = """
from annotations.models import User
User.objects.filter(username="mia").update(is_active=ACTIVE)
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory, django_db_setup, django_db_blocker):
    """A data folder with WORLD. `tokens` and notes are in `said`; `shell` runs code on it and reads what it prints.

    On SQLite, it begins with a copy of the test's database, whose tables are there already.
    """
    folder = tmp_path_factory.mktemp("mcp") / "data"
    folder.mkdir()
    with django_db_blocker.unblock(), closing(sqlite3.connect(folder / "deidreview.sqlite3")) as copy:
        if connection.vendor == "sqlite":
            connection.ensure_connection()
            connection.connection.backup(copy)
    with own_database() as database:
        env = clean_environ(folder) | database

        def manage(*words, **changes):
            return warm.run(words, env | changes)

        def shell(code):
            done = manage("shell", "--no-imports", "-c", code)
            assert done.returncode == 0, done.stderr
            return json.loads(done.stdout or "null")

        assert manage("prepare").returncode == 0
        yield SimpleNamespace(env=env, manage=manage, shell=shell, said=shell(WORLD))


@pytest.fixture(scope="module")
def address(world, tmp_path_factory):
    """A server over HTTP, with its address."""
    port, log = free_port(), tmp_path_factory.mktemp("http") / "log"
    with log.open("w") as output:
        server = warm.Forked(["mcp", "--http", f"127.0.0.1:{port}"], world.env, output, output)
    found = f"http://127.0.0.1:{port}/mcp"

    def answers():
        assert server.poll() is None, log.read_text()
        try:
            return httpx2.post(found).status_code == 401
        except httpx2.TransportError:
            return False

    try:
        wait_for(answers, 30, "the server", log.read_text)
        yield found
    finally:
        server.terminate()
        server.wait()


@asynccontextmanager
async def over_stdio(world, token):
    env = world.env | {"DEIDREVIEW_TOKEN": token}
    words = ["manage.py", "mcp"]
    server = stdio_client(StdioServerParameters(command=sys.executable, args=words, env=env, cwd=str(ROOT)))
    async with Client(server) as client:
        yield client


@asynccontextmanager
async def over_http(address, token):
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as http,
        Client(streamable_http_client(address, http_client=http)) as client,
    ):
        yield client


async def ask(client, tool, /, **arguments):
    """The answer of a tool. An answer that is refused is marked as an error, and no other one is."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error == ("refused" in result.structured_content)
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


async def refine(client, other, note):
    """Refine the note of `ward` with two clients side by side. Return the name of the result."""
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == {
        "list_refinements", "start_refinement", "list_notes", "list_annotations", "show_context", "validate",
        "load_skill", "recall", "keep", "change_ends", "change_class", "remove", "finish",
    }  # fmt: skip
    assert tools["show_context"].annotations.read_only_hint and not tools["keep"].annotations.read_only_hint
    assert {"refinement", "note", "number", "reason"} <= set(tools["keep"].input_schema["required"])
    again = {"project": "ward", "run": "wide", "key": uuid.uuid4().hex}
    made = await ask(client, "start_refinement", **again)
    assert (made["run"], made["notes"], made["unfinished"]) == ("wide", 1, 1)
    # A client that got no answer repeats the call with its key.
    assert await ask(other, "start_refinement", **again) == made
    assert await ask(client, "start_refinement", **again, name=f"two {again['key']}") != made
    assert made in (await ask(client, "list_refinements", project="ward"))["refinements"]
    at = {"refinement": made["refinement"], "note": note}
    listed = await ask(client, "list_notes", refinement=made["refinement"])
    assert listed["notes"] == [{"note": note, "name": "caso-1"}]
    listed = await ask(client, "list_annotations", **at)
    assert [(one["text"], one["label"]) for one in listed["annotations"]] == [
        ("Anna", "DOCTOR"), ("54", "AGE"), ("rosso", "PATIENT")
    ]  # fmt: skip
    assert (await ask(client, "show_context", **at, number=3, before=2, after=1))["before"].endswith("di colore ")
    assert (await ask(client, "validate", **at, number=2))["checks"][0]["check"] == "age"
    guidance = await ask(client, "load_skill", **at, name="names-people")
    assert guidance["text"].startswith("# Nomi di persone")
    await ask(client, "change_class", **at, number=1, label="PATIENT", reason="The header says patient.")
    # The second client sees the first one's decision, and goes on from it.
    seen = await ask(other, "list_annotations", **at, state="open")
    assert (seen["open"], [one["number"] for one in seen["annotations"]]) == (2, [2, 3])
    changed = await ask(other, "change_ends", **at, number=1, text="Anna Rossi", reason="The whole name.")
    assert (changed["decision"]["end"], changed["decision"]["label"]) == (20, "PATIENT")
    await ask(other, "keep", **at, number=2, reason="An age.")
    early = await ask(client, "finish", **at)
    assert early == {"finished": False, "problems": ["Annotation 3 is still open."]}
    assert "don't overlap" in (await ask(client, "change_ends", **at, number=3, start=0, end=4, reason="x"))["refused"]
    assert "There is no argument" in (await ask(client, "keep", **at, number=3, reason="x", path="/etc"))["refused"]
    await ask(client, "remove", **at, number=3, reason="A color.")
    assert await ask(client, "finish", **at) == {"finished": True, "problems": []}
    assert "finished" in (await ask(other, "keep", **at, number=3, reason="late"))["refused"]
    assert (await ask(client, "list_notes", refinement=made["refinement"]))["notes"] == []
    return made["name"]


def test_a_note_over_http_by_two_clients(world, address):
    async def run():
        manager = world.said["manager"]
        async with over_http(address, manager) as client, over_http(address, manager) as other:
            return await refine(client, other, world.said["ward"])

    found = world.shell(LOOK.replace("NAME", asyncio.run(run())))
    assert found["spans"] == [[10, 20, "PATIENT"], [22, 24, "AGE"]]
    assert found["reasons"] == ["The whole name.", "An age."] and found["sets"] == 1 and found["reads"] > 5
    assert found["events"][-6:] == [
        ["refinement.started", "mia"], *[["refinement.decided", "mia"]] * 4, ["refinement.note_finished", "mia"]
    ]  # fmt: skip


@pytest.mark.nightly
def test_over_stdio_a_deactivated_person_loses_access_at_once(world):
    async def run():
        async with over_stdio(world, world.said["manager"]) as client:
            made = await ask(client, "start_refinement", project="ward", run="wide")
            at = {"refinement": made["refinement"], "note": world.said["ward"]}
            assert (await ask(client, "list_annotations", **at))["open"] == 3
            await asyncio.to_thread(world.shell, REVOKE.replace("ACTIVE", "False"))
            try:
                return (await ask(client, "list_annotations", **at))["refused"]
            finally:
                await asyncio.to_thread(world.shell, REVOKE.replace("ACTIVE", "True"))

    assert "not a valid token" in asyncio.run(run())


def test_no_valid_token_and_web_pages(world, address):
    for token in ("", "deid_unknown", world.said["revoked"]):
        sent = {"Authorization": f"Bearer {token}"} if token else {}
        refused = httpx2.post(address, headers=sent, json={})
        assert refused.status_code == 401 and refused.headers["WWW-Authenticate"].startswith("Bearer")
    sent = {"Authorization": f"Bearer {world.said['manager']}"}
    world.shell(REVOKE.replace("ACTIVE", "False"))
    assert httpx2.post(address, headers=sent, json={}).status_code == 401
    world.shell(REVOKE.replace("ACTIVE", "True"))
    done = world.manage("mcp", DEIDREVIEW_TOKEN=world.said["revoked"])
    assert done.returncode == 1 and "not a valid token" in done.stderr and done.stdout == ""
    # Web pages.
    sent["Accept"] = "application/json, text/event-stream"
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    for name, value, status in (("Origin", "https://a.example", 403), ("Host", "a.example", 421)):
        assert httpx2.post(address, headers=sent | {name: value}, json=asked).status_code == status


def test_what_rights_and_projects_refuse(world, address):
    said = world.said
    words = ("do", "start_refinement_now", "ward", "--run", "wide", "--method", "external", "--by", "mia", "--json")
    started = json.loads(world.manage(*words).stdout)
    at = {"refinement": started["id"], "note": said["ward"]}

    async def refused(token, tool, /, **arguments):
        async with over_http(address, said[token]) as client:
            return (await ask(client, tool, **arguments))["refused"]

    async def run():
        # The other project's note, by way of a refinement of this one, and a project that allows no client.
        assert "Nothing with this name" in await refused("manager", "list_annotations", **at | {"note": said["other"]})
        assert "lets no MCP client" in await refused("manager", "start_refinement", project="other", run="wide")
        assert "Nothing with this name" in await refused("manager", "list_refinements", project="nowhere")
        # A token for another project, a role that doesn't manage, and a token that only reads.
        assert "Nothing with this name" in await refused("bound", "list_annotations", **at)
        assert "role" in await refused("reviewer", "list_annotations", **at)
        assert "scope" in await refused("reader", "keep", **at, number=1, reason="x")
        assert "no tool" in await refused("manager", "read_file", path="/etc/passwd")
        async with over_http(address, said["reader"]) as client:
            assert (await ask(client, "list_annotations", **at))["open"] == 3
            listed = (await ask(client, "list_refinements", project="ward"))["refinements"]
            of_command = {"name": started["name"], "run": "wide", "notes": 1, "unfinished": 1}
            assert {"refinement": started["id"], **of_command} in listed

    asyncio.run(run())


def test_an_address_that_is_none():
    for words in ("8100", "127.0.0.1:", ":8100", "127.0.0.1:99999", "a:b"):
        with pytest.raises(CommandError, match="is not HOST:PORT"):
            call_command("mcp", "--http", words)
