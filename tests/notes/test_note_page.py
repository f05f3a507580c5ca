"""The page of one note with its annotation sets."""

import re

from annotations.core.services import NOTE_READ
from annotations.models import Event
from annotations.notes.selectors.in_context import line_at
from tests import factories as make
from tests.notes.note_pages import DATE, ROSSI, gold_of, page_of
from tests.worlds.checks import check_page


def test_members_who_see_all_notes_see_the_text_with_annotations(annotated, sign_in):
    for who in ("mia", "rev", "vic"):
        html = check_page(sign_in(getattr(annotated, who)).get(page_of(annotated.note.pk)))
        assert 'data-label="PATIENT"' in html and ("Make gold" in html) == (who != "vic")
    event = Event.objects.filter(verb=NOTE_READ).latest("pk")
    assert (event.actor, event.document_id) == (annotated.vic, annotated.note.pk)
    assert event.data == {"set": annotated.anns.pk}
    client = sign_in(annotated.rev)
    html = check_page(client.get(page_of(annotated.note.pk, f"?set={annotated.bens.pk}")))
    assert 'data-label="PATIENT"' not in html and 'data-label="DATE"' in html
    assert "Mario Rossi" in check_page(client.get(page_of(annotated.notes[1].pk)))


def test_gold_comes_first_and_differences_are_shown(annotated, sign_in):
    gold = gold_of(annotated.note, [ROSSI])
    client = sign_in(annotated.rev)
    assert re.search("Gold since <time [^<]*</time>: 1 span[.]", check_page(client.get(page_of(annotated.note.pk))))
    html = check_page(client.get(page_of(annotated.note.pk, f"?set={annotated.anns.pk}")))
    assert "Only in these annotations" in html and "Replace the gold" in html and "12/03/2021" in html
    make.make_span(gold, *DATE)
    html = check_page(client.get(page_of(annotated.note.pk, f"?set={annotated.anns.pk}")))
    assert "match the gold: 2 spans" in html and "Replace gold" not in html


def test_neighbors_keep_the_filter(world, sign_in):
    third = make.make_note(world.project, name="caso-003")
    gold_of(world.notes[1])
    html = check_page(sign_in(world.rev).get(page_of(world.note.pk, "?state=no-gold")))
    assert page_of(third.pk, "?state=no-gold") in html
    assert page_of(world.notes[1].pk) not in html


def test_an_unknown_annotation_set_is_404(annotated, sign_in):
    foreign = make.make_set(make.make_note(annotated.other), make.make_author(annotated.other))
    for wrong in (99, "x", foreign.pk):
        assert sign_in(annotated.mia).get(page_of(annotated.note.pk, f"?set={wrong}")).status_code == 404
    assert Event.objects.count() == 0


def test_a_note_takes_few_queries(annotated, sign_in, django_assert_max_num_queries):
    client = sign_in(annotated.rev)
    gold_of(annotated.note, [ROSSI])
    client.get(page_of(annotated.note.pk))
    with django_assert_max_num_queries(24):
        client.get(page_of(annotated.note.pk, f"?set={annotated.anns.pk}"))


def test_lines_are_counted_as_on_the_page():
    assert [line_at("a\r\nb\rc\nd", offset) for offset in (0, 1, 3, 5, 7)] == [1, 1, 2, 3, 4]
