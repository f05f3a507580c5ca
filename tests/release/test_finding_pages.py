"""The page of findings: groups, decisions for one and for all of a string, undo, with and without scripts."""

import pytest
from django.urls import reverse

from annotations.core.events import NOTE_READ
from annotations.models import Event, LeakFinding, Release, ReleaseState
from tests import factories as make
from tests.worlds.checks import check_page
from tests.worlds.released import make_release

FINDINGS, DECIDE = (reverse(name, args=["covid", 1]) for name in ("release_findings", "release_decide"))


@pytest.fixture
def found(clinic, sign_in):
    """The clinic with a signed-in manager, and the findings: Rossi twice, Torino once."""
    clinic.client = sign_in(clinic.mia)
    rows = list(LeakFinding.objects.order_by("note", "start"))
    clinic.first, clinic.torino, clinic.second = rows
    assert clinic.first.string_key == clinic.second.string_key
    return clinic


def ask(found, finding, answer, *, all_of=False, htmx=True, **more):
    data = {"string": finding.string_key, "answer": answer} | ({} if all_of else {"finding": finding.pk}) | more
    return found.client.post(DECIDE, data, headers={"HX-Request": "true"} if htmx else {})


def test_findings_are_grouped_by_string_with_context_and_origin(found):
    before = Event.objects.filter(verb=NOTE_READ).count()
    html = check_page(found.client.get(FINDINGS))
    assert html.count('class="leak-group card"') == 2
    assert '<q dir="auto">Rossi</q>' in html and "Replace all 2" in html
    assert "Il sig. <mark>Rossi</mark> torna a casa." in html
    assert "labeled in this note" in html and "labeled in caso-001" in html and "part of the string" in html
    assert f"{reverse('note', args=['covid', found.notes[0].pk])}?at=0-11" in html
    assert f"{reverse('release_note', args=['covid', 1, found.notes[0].pk])}#f{found.first.pk}" in html
    read = Event.objects.filter(verb=NOTE_READ)
    assert read.count() == before + 2
    assert {event.document_id for event in read.order_by("-id")[:2]} == {note.pk for note in found.notes[:2]}


def test_a_finding_without_a_labeled_span_says_where_it_comes_from(found):
    for origin, words in (("shape", "looks like an identifier"), ("audit", "marked in the audit")):
        none = {"source": None, "source_start": None, "source_end": None}
        LeakFinding.objects.filter(pk=found.torino.pk).update(origin=origin, **none)
        item = check_page(found.client.get(FINDINGS)).split(f'id="finding-{found.torino.pk}"')[1].split("</li>")[0]
        assert words in item and "labeled" not in item


def test_replacing_one_finding_changes_its_note_only(found):
    html = check_page(ask(found, found.first, "replace"), fragment=True)
    assert html.count('class="leak-group card"') == 1 and "Replace 1" in html
    assert '<span class="pill-note" id="count-open" hx-swap-oob="true">2</span>' in html
    texts = dict(found.release.notes.values_list("document", "text"))
    assert "Il sig. [PATIENT] torna a casa." in texts[found.notes[0].pk]
    assert "Rossi sta bene" in texts[found.notes[1].pk]
    assert list(LeakFinding.objects.exclude(decision="").values_list("pk", flat=True)) == [found.first.pk]


def test_without_scripts_a_decision_returns_to_its_string(found):
    response = ask(found, found.torino, "replace", htmx=False, state="all")
    assert response.url == f"{FINDINGS}?state=all#g{found.torino.string_key}"
    html = check_page(found.client.get(f"{FINDINGS}?state=all"))
    assert "1 finding is replaced in the released text." in html and "replaced" in html
    # A replaced finding is shown as it was in the original.
    assert "Controllo a <mark>Torino</mark>: Rossi sta bene." in html
    assert "Torino" not in found.release.notes.get(document=found.notes[1]).text


def test_a_finding_that_somebody_decided_meanwhile_keeps_that_answer(found):
    for data in ({"answer": "shred"}, {"answer": "allow", "string": "Rossi"}, {"answer": "allow"}, {}):
        assert found.client.post(DECIDE, {"finding": found.first.pk, **data}).status_code == 302
        assert not LeakFinding.objects.exclude(decision="").exists()
    ask(found, found.first, "allow")
    check_page(ask(found, found.first, "replace"), fragment=True)
    assert LeakFinding.objects.get(pk=found.first.pk).decision == "allow"


def test_a_signed_release_shows_its_findings_without_buttons(found):
    Release.objects.update(state=ReleaseState.SIGNED)
    html = check_page(found.client.get(FINDINGS))
    assert "<button" not in html.split("leak-groups")[1].split("</main>")[0]
    response = ask(found, found.first, "allow", htmx=False)
    assert "not yet signed" in check_page(found.client.get(response.url))


def test_a_finding_in_the_name_of_a_note(found):
    note = make.make_note(found.project, "Mario Rossi.", "rossi-mario", patient_id="P-1")
    make.make_set(note, found.gold, [(0, 11, "PATIENT")], submitted=True)
    make_release(found.project, found.mia)
    html = check_page(found.client.get(reverse("release_findings", args=["covid", 2])))
    assert "in the name of the note" in html


def test_the_placeholder_of_a_finding_without_a_label_is_chosen(found):
    """One finding of the string has a label, and another one has none: both can be answered on the page."""
    LeakFinding.objects.filter(pk=found.second.pk).update(label="")
    html = check_page(found.client.get(FINDINGS))
    item = [html.split(f'id="finding-{one.pk}"')[1].split("</li>")[0] for one in (found.first, found.second)]
    assert ['name="label"' in one for one in item] == [False, True] and html.count('name="label"') == 2
    ask(found, found.second, "replace", all_of=True)
    assert not LeakFinding.objects.exclude(decision="").exists(), "no label was chosen"
    check_page(ask(found, found.second, "replace", all_of=True, label="DOCTOR"), fragment=True)
    texts = dict(found.release.notes.values_list("document", "text"))
    assert "[PATIENT]" in texts[found.notes[0].pk] and "[DOCTOR] sta bene" in texts[found.notes[1].pk]
