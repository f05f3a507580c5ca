"""The page of findings: groups, decisions for one and for all of a string, undo, with and without scripts."""

import json
import re

import pytest
from django.http import HttpResponse
from django.urls import reverse

from annotations.core.services import NOTE_READ
from annotations.models import Event, LeakFinding, Release, ReleaseState
from annotations.release.services.deciding import answer_chosen
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


def ask(found, finding, answer, *, all_of=False, script=True, **more):
    data = {"string": finding.string_key, "answer": answer} | ({} if all_of else {"finding": finding.pk}) | more
    return send(found, data | {"string": str(finding.string_key)}) if script else found.client.post(DECIDE, data)


def send(found, *changes):
    """Send answers as the script does. The groups in the answer are checked."""
    data = json.dumps({"changes": changes, "state": "open", "person": found.mia.pk})
    answer = found.client.post(DECIDE, data, content_type="application/json").json()
    for html in answer["parts"].values():
        check_page(HttpResponse(html), fragment=True)
    return answer


def test_what_comes_in_is_shown_before_all_are_replaced(found):
    """The placeholder, or the surrogate that the notes then have."""
    for release, masked in ((found.release, True), (make_release(found.project, found.mia, "surrogate"), False)):
        page = reverse("release_findings", args=["covid", release.number])
        html = check_page(found.client.get(page, {"instead": found.first.string_key}), fragment=True)
        assert f'hx-get="{page}?instead={found.first.string_key}"' in check_page(found.client.get(page))
        texts = re.findall(r"<bdi>(.+?)</bdi>", html)
        assert texts == ["[PATIENT]"] if masked else len(texts) == 1 and "Rossi" not in html
        answer_chosen(release=release, answer="replace", string_key=found.first.string_key, actor=found.mia)
        assert [texts[0] in note.text for note in release.notes.order_by("document")[:2]] == [True, True]
    assert found.client.get(page, {"instead": "x"}).status_code == 404


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


def test_without_scripts_a_decision_returns_to_its_string(found):
    response = ask(found, found.torino, "replace", script=False, state="all")
    assert response.url == f"{FINDINGS}?state=all#g{found.torino.string_key}"
    html = check_page(found.client.get(f"{FINDINGS}?state=all"))
    assert "1 finding is replaced in the released text." in html and "replaced" in html
    # A replaced finding is shown as it was in the original.
    assert "Controllo a <mark>Torino</mark>: Rossi sta bene." in html
    assert "Torino" not in found.release.notes.get(document=found.notes[1]).text


def test_malformed_answers_decide_nothing(found):
    for data in ({"answer": "shred"}, {"answer": "allow", "string": "Rossi"}, {"answer": "allow"}, {}):
        assert found.client.post(DECIDE, {"finding": found.first.pk, **data}).status_code == 302
        assert not LeakFinding.objects.exclude(decision="").exists()


def test_a_signed_release_shows_its_findings_without_buttons(found):
    Release.objects.update(state=ReleaseState.SIGNED)
    html = check_page(found.client.get(FINDINGS))
    assert "<button" not in html.split("leak-groups")[1].split("</main>")[0]
    response = ask(found, found.first, "allow", script=False)
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
    assert ask(found, found.second, "replace", all_of=True)["outcomes"][0]["error"] == "label"
    assert not LeakFinding.objects.exclude(decision="").exists(), "no label was chosen"
    ask(found, found.second, "replace", all_of=True, label="DOCTOR")
    texts = dict(found.release.notes.values_list("document", "text"))
    assert "[PATIENT]" in texts[found.notes[0].pk] and "[DOCTOR] sta bene" in texts[found.notes[1].pk]


def test_answers_of_a_batch_have_their_own_outcomes(found):
    change = {"string": str(found.first.string_key), "finding": found.first.pk, "answer": "replace"}
    torino = {"string": str(found.torino.string_key), "finding": found.torino.pk, "answer": "replace"}
    answer = send(
        found, change, torino, {"answer": "dance"}, change | {"answer": "allow", "finding": found.second.pk},
        torino | {"answer": "undo"},
    )  # fmt: skip
    assert [outcome and outcome["error"] for outcome in answer["outcomes"]] == [None, None, "malformed", None, None]
    assert set(answer["parts"]) == {f"g{found.first.string_key}", f"g{found.torino.string_key}"}
    assert answer["counts"] == {"count-open": "1", "count-decided": "2", "count-all": "3"}
    decisions = dict(LeakFinding.objects.values_list("pk", "decision"))
    assert decisions == {found.first.pk: "replace", found.torino.pk: "", found.second.pk: "allow"}
    # The decided card is folded, unless decided ones are listed.
    assert 'leak-fold">' in answer["parts"][f"g{found.first.string_key}"]
    assert 'leak-fold" open>' in check_page(found.client.get(f"{FINDINGS}?state=decided"))
    assert found.client.get(FINDINGS, headers={"Accept": "application/json"}).json()["person"] == found.mia.pk
