"""Pages of findings and policies, and the views of a note: original, masked, with surrogates."""

import json
import re

import pytest
from django.http import HttpResponse
from django.urls import reverse

from annotations.core.services import NOTE_READ
from annotations.models import Event, LabelSet, LeakFinding, Release, ReleasePolicy, ReleaseState, SurrogateEntity
from annotations.release.services.deciding import answer_chosen
from tests import factories as make
from tests.worlds.checks import check_page
from tests.worlds.released import make_release

FINDINGS, DECIDE = (reverse(name, args=["covid", 1]) for name in ("release_findings", "release_decide"))


@pytest.fixture
def found(clinic, sign_in):
    """The clinic with a signed-in manager, and the findings: Rossi twice, Torino once."""
    clinic.client = sign_in(clinic.mia)
    clinic.first, clinic.torino, clinic.second = list(LeakFinding.objects.order_by("note", "start"))
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
    assert html.count('class="leak-group card"') == 2 and '<q dir="auto">Rossi</q>' in html and "Replace all 2" in html
    assert "Il sig. <mark>Rossi</mark> torna a casa." in html
    assert "labeled in this note" in html and "labeled in caso-001" in html and "part of the string" in html
    assert f"{reverse('note', args=['covid', found.notes[0].pk])}?at=0-11" in html
    assert f"{reverse('release_note', args=['covid', 1, found.notes[0].pk])}#f{found.first.pk}" in html
    read = Event.objects.filter(verb=NOTE_READ)
    assert read.count() == before + 2
    assert {event.document_id for event in read.order_by("-id")[:2]} == {note.pk for note in found.notes[:2]}


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
    assert "<button" not in check_page(found.client.get(FINDINGS)).split("leak-groups")[1].split("</main>")[0]
    assert "not yet signed" in check_page(found.client.get(ask(found, found.first, "allow", script=False).url))


def test_a_finding_in_the_name_of_a_note(found):
    note = make.make_note(found.project, "Mario Rossi.", "rossi-mario", patient_id="P-1")
    make.make_set(note, found.gold, [(0, 11, "PATIENT")], submitted=True)
    make_release(found.project, found.mia)
    assert "in the name of the note" in check_page(found.client.get(reverse("release_findings", args=["covid", 2])))


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


# ── Views of a note ───────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture
def reader(clinic, sign_in):
    clinic.client = sign_in(clinic.vic)
    clinic.page = reverse("note", args=["covid", clinic.notes[0].pk])
    return clinic


def text_of(html: str) -> str:
    return html.split('<div class="note is-plain"')[1].split('<div class="stack">')[0]


def test_the_masked_view_has_placeholders_and_none_of_the_labeled_text(reader):
    html = check_page(reader.client.get(reader.page + "?view=masked"))
    shown = text_of(html)
    assert ">[PATIENT]</span>" in shown and ">[CITY]</span>" in shown and "Il sig. Rossi torna a casa." in shown
    assert "Mario" not in shown and "Torino" not in shown
    assert '<a href="?view=masked" aria-current="page">Masked</a>' in html


def test_the_view_of_surrogates_changes_names_and_stores_nothing(reader):
    shown = text_of(check_page(reader.client.get(reader.page + "?view=surrogates")))
    assert "Mario" not in shown and "[PATIENT]" not in shown and "12/03/2021" not in shown
    assert not SurrogateEntity.objects.exists()


def test_the_view_goes_along_to_other_notes_and_annotation_sets(reader):
    chosen = make.make_set(reader.notes[0], "run:rules-1", [(0, 11, "PATIENT")])
    html = check_page(reader.client.get(reader.page + "?view=masked"))
    assert f'{reverse("note", args=["covid", reader.notes[1].pk])}?view=masked"' in html
    assert f'?set={chosen.pk}&amp;view=masked"' in html
    html = check_page(reader.client.get(reader.page + "?view=%22onclick"))
    assert "onclick" not in html.split("<main")[1].split("note-views")[0]
    html = check_page(reader.client.get(f"{reader.page}?set={chosen.pk}&view=masked"))
    shown = text_of(html)
    assert ">[PATIENT]</span>" in shown and "Torino" in shown and f"?set={chosen.pk}&amp;view=surrogates" in html
    note = make.make_note(reader.project, "Nothing here.")
    assert "note-views" not in check_page(reader.client.get(reverse("note", args=["covid", note.pk])))


# ── Surrogates as JSON ────────────────────────────────────────────────────────────────────────────────────────────────


def surrogates_for(client, clinic, spans):
    path = reverse("note_surrogates", args=["covid", clinic.notes[0].pk])
    return client.post(path, json.dumps({"spans": spans, "person": clinic.rev.pk}), content_type="application/json")


def test_the_review_gets_a_surrogate_for_each_stretch(clinic, sign_in):
    client, label = sign_in(clinic.rev), clinic.labels["PATIENT"].pk
    response = surrogates_for(client, clinic, [[0, 11, label], [6, 11, label]])
    assert response.status_code == 200
    ((start, end, text),) = response.json()["texts"]
    assert (start, end) == (0, 11) and text and "Rossi" not in text
    kept = surrogates_for(client, clinic, [[0, 11, clinic.labels["COUNTRY"].pk]]).json()
    assert kept["texts"] == [[0, 11, None]], "nothing of the note is read without a record"
    lists = ([[0, 11]], [[0, 11, "PATIENT"]], [[11, 0, 1]], [[0, 9999, 1]], [[0, 11, 0]], [7], [[0, 0, 1]])
    for spans in (None, "all", *lists):
        response = surrogates_for(client, clinic, spans)
        assert (response.status_code, response.json()["error"]) == (400, "malformed")


# ── Policies ──────────────────────────────────────────────────────────────────────────────────────────────────────────
POLICIES, MASK = reverse("release_policies", args=["covid"]), reverse("release_policy", args=["covid", "mask"])


@pytest.fixture
def editor(clinic, sign_in):
    clinic.client = sign_in(clinic.mia)
    return clinic


def sent(editor, slug="mask", **changes):
    """The form of the editor as the page shows it, with changes such as `action-CITY`."""
    page = editor.client.get(reverse("release_policy", args=["covid", slug]))
    form = page.context["form"]
    data = {name: form[name].value() for name in form.fields}
    data["seen"] = page.context["policy"].version
    return {name: value for name, value in (data | changes).items() if value not in (False, None)}


def test_the_editor_shows_a_rule_and_an_example_for_each_label(editor):
    html = check_page(editor.client.get(MASK))
    assert "Maria Rossi" in html and "<strong>[PATIENT]</strong>" in html and html.count('class="policy-example"') == 28
    html = check_page(editor.client.get(reverse("release_policy", args=["covid", "surrogate"])))
    assert "Laura Conti" in html and "version 1" in html
    check_page(editor.client.post(MASK, sent(editor), follow=True))
    assert ReleasePolicy.objects.filter(slug="mask").count() == 1, "nothing has changed"


def test_saving_makes_the_next_version_with_its_changes(editor):
    data = sent(editor, **{"action-CITY": "surrogate", "numbered-PATIENT": "on"})
    html = check_page(editor.client.post(MASK, data, follow=True))
    changes = html.split('id="v2"')[1].split('id="v1"')[0]
    assert "<del>Mask (City)</del> <ins>Replace with a surrogate (City)</ins>" in changes
    assert "<ins>Mask, numbered (Patient or relative)</ins>" in changes and "<strong>[PATIENT 1]</strong>" in html
    saved = ReleasePolicy.objects.get(slug="mask", version=2)
    assert saved.created_by == editor.mia
    assert saved.rules["CITY"] == {"kind": "city", "action": "surrogate", "numbered": False}
    # The shipped description would be wrong now.
    assert "Changed in this project: 1 label" in html and "Every labeled span becomes" not in html
    # A release keeps its version.
    assert make.reread(editor.release).policy.version == 1


def test_a_policy_is_saved_as_a_new_one(editor):
    data = sent(editor, **{"action-CITY": "keep", "new_name": "Cities stay", "new_slug": "cities", "act": "copy"})
    for _click in range(2):
        assert "Cities stay" in check_page(editor.client.post(MASK, data, follow=True))
    saved = ReleasePolicy.objects.get(slug="cities")
    assert (saved.version, saved.rules["CITY"]["action"]) == (1, "keep")
    assert "Cities stay" in check_page(editor.client.get(POLICIES))
    form = sent(editor, **{"act": "copy", "action-CITY": "keep"})
    for changes in (
        {"new_name": "Mine"}, {"new_name": "Mine", "new_slug": "safe-harbor"}, {"new_name": "Mine", "new_slug": "mask"},
        {"new_name": "Mine", "new_slug": "My own"}, {"new_name": "Mine", "new_slug": "mine", "act": ""},
    ):  # fmt: skip
        assert editor.client.post(MASK, form | changes).status_code == 422, changes
    assert ReleasePolicy.objects.count() == 2


def test_labels_without_a_kind_are_named_and_can_be_mapped(editor):
    assert "as shipped" in check_page(editor.client.get(POLICIES))
    LabelSet.objects.filter(project=editor.project).update(key="test")
    ReleasePolicy.objects.update(project=make.make_project("elsewhere"))  # where nobody asks for kinds
    assert "28 labels without a rule" in check_page(editor.client.get(POLICIES))
    page = reverse("release_policy", args=["covid", "remove"])
    assert "28 labels have no rule: " in check_page(editor.client.get(page))
    data = {"name": "Remove", "seen": "0"}
    for code in editor.labels:
        data |= {f"kind-{code}": "other", f"action-{code}": "remove"}
    check_page(editor.client.post(page, data, follow=True))
    assert ReleasePolicy.objects.get(slug="remove").version == 1


def test_an_example_follows_the_fields_of_its_row(editor):
    data = sent(editor, **{"action-DATE": "generalize", "example": "DATE"})
    response = editor.client.post(MASK, data, headers={"HX-Request": "true"})
    assert "<strong>2021</strong>" in check_page(response, fragment=True)
    data |= {"action-DATE": "remove"}
    assert "removed" in editor.client.post(MASK, data).content.decode()
    data |= {"kind-DATE": "city", "action-DATE": "shift"}
    assert "not possible" in editor.client.post(MASK, data).content.decode()
    assert editor.client.post(MASK, data | {"example": "PLANET"}).status_code == 404
    assert ReleasePolicy.objects.filter(slug="mask").count() == 1
