"""Whoever is shown text of a note is recorded as its reader, whatever page or route shows it.

Only what the tables of access say to succeed is asked: what is refused or redirected shows no text.
"""

from collections.abc import Callable
from functools import partial

import pytest
from django.http import HttpResponse

from annotations.core.services import FILE_DOWNLOADED, NOTE_READ
from annotations.gold.services.making import freeze
from annotations.models import Author, Document, Event
from tests.deidreview import test_api_matrix as api_matrix
from tests.deidreview.access_table import TABLE as PAGES
from tests.deidreview.access_table import status_in
from tests.deidreview.access_world import World, answer_of, as_persona, undone
from tests.deidreview.api_table import TABLE as API
from tests.factories import make_set
from tests.held import made_once
from tests.worlds.checks import WORDS_OF_THE_NOTE
from tests.worlds.programs import Program

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fast_requests", "small_models", "uncounted_links")]
# A manager sees whatever others see; an annotator has own pages.
PERSONAS = ("annotator", "manager")
# The form repeats what the person looked for before.
TYPED = {"GET search annotator"}
SEEN = {
    "GET disagreements manager", "GET disagreement_sentences manager", "GET score_errors manager",
    "GET review_strings manager", "GET search_results annotator", "GET sentences_export manager",
    "list_disagreements manager", "read_disagreement manager", "list_disagreement_sentences manager",
    "list_score_errors manager", "list_suggested_strings manager", "list_surrogates manager",
    "search_notes annotator", "export_rewritten_notes manager",
}  # fmt: skip


def build() -> World:
    """The world of the access table with a note on which annotators disagree, and a run that errs on its gold."""
    world = api_matrix.build_world_with_spans()
    ids = world.objects["ours"]
    note = Document.objects.get(pk=ids["note"])
    make_set(note, world.people["reviewer"], [(6, 11, "PATIENT")], submitted=True)
    gold = Author.objects.get(project=world.ours, kind="gold")
    make_set(note, gold, [(6, 11, "PATIENT")], submitted=True)
    ids["version"] = freeze(project=world.ours, actor=None)[0].number
    return world


made, world = made_once(build)


def shown(ask: Callable[[], HttpResponse], note: int) -> str:
    """Whether the answer has text of the note: `recorded` or `unrecorded`; empty if it has none."""
    last = Event.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    answer = ask()
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    if answer.status_code >= 300 or not any(word.encode() in content for word in WORDS_OF_THE_NOTE):
        return ""
    events = Event.objects.filter(pk__gt=last)
    read = events.filter(verb=NOTE_READ, document_id=note).exists() or events.filter(verb=FILE_DOWNLOADED).exists()
    return "recorded" if read else "unrecorded"


def check(asks: dict[str, Callable[[], HttpResponse]], world: World) -> None:
    ids = world.objects["ours"]
    # The recording's transcript is the other note.
    notes = {name: ids["open_note" if " recording " in name else "note"] for name in asks}
    found = {name: undone(partial(shown, ask, notes[name])) for name, ask in asks.items()}
    assert {name for name, how in found.items() if how == "unrecorded"} <= TYPED
    assert {found[name] for name in SEEN & set(found)} == {"recorded"}


def test_every_page_with_text_of_a_note_records_the_reader(world):
    clients = {persona: as_persona(world, persona) for persona in PERSONAS}
    asks = {
        f"{method} {name} {persona}": partial(answer_of, client, method, name, world)
        for persona, client in clients.items() for name, methods in PAGES.items() for method, row in methods.items()
        if status_in(row, persona).startswith("2")
    }  # fmt: skip
    check(asks, world)


def test_every_route_with_text_of_a_note_records_the_reader(world):
    programs = {persona: Program(world.people[persona]) for persona in PERSONAS}
    asks = {
        f"{name} {persona}": partial(api_matrix.answer_of, program, name, world)
        for persona, program in programs.items() for name, row in API.items()
        if status_in(row.statuses, persona).startswith("2")
    }  # fmt: skip
    check(asks, world)
