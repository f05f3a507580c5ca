"""Score pages: the same figures as the command, errors in context, and empty states."""

import io
import json
from unittest.mock import patch

import pytest
from django.core.management import call_command
from django.urls import reverse

from annotations.core.events import NOTE_READ
from annotations.core.progress import silent
from annotations.core.templatetags.coefficients import percent
from annotations.gold.services.making import freeze, make_gold
from annotations.gold.services.splitting import split_version
from annotations.models import Author, Event, Job, Span
from annotations.review.services.finishing import finish_review
from annotations.scores.services import asking
from annotations.scores.services.scoring import run_score
from annotations.scores.views import scores as view
from tests import factories as make
from tests.worlds.checks import check_page

ROSSI, AGE, CITY = (0, 11, "PATIENT"), (13, 15, "AGE"), (44, 50, "CITY")
SCORES = reverse("scores", args=["covid"])


@pytest.fixture
def read(world):
    """Gold on both notes; the run found Rossi, has wrong bounds for the age, and labels the doctor as a patient."""
    gold = make.make_author(world.project, kind="gold", name="gold")
    run = make.make_author(world.project, kind="run", name="rules-1")
    for note in world.notes:
        make.make_set(note, gold, [ROSSI, AGE, CITY, (61, 68, "DOCTOR")], submitted=True)
    make.make_set(world.note, run, [ROSSI, (13, 20, "AGE"), (61, 68, "PATIENT")], submitted=True)
    world.run = run
    return world


def url(name, world, version=0, author=None, **query):
    where = reverse(name, args=[world.project.slug, version, (author or world.run).pk])
    return where + ("?" + "&".join(f"{key}={value}" for key, value in query.items()) if query else "")


def test_the_page_shows_what_the_command_prints(read, sign_in):
    freeze(project=read.project, actor=None)
    out = io.StringIO()
    call_command("score", "covid", "--gold", "1", "--author", "rules-1", "--json", stdout=out)
    printed = json.loads(out.getvalue())
    response = sign_in(read.vic).get(url("score", read, 1))
    html = check_page(response)
    del printed["errors_by_category"]
    assert printed.pop("masking_threshold") is None
    assert printed.pop("notes_learned_from") == 0
    assert json.loads(json.dumps(response.context["table"])) == printed
    for level in printed["levels"]:
        assert f"{level['micro']['f1']:.4f}" in html
    assert f"{printed['meddocan']['leak']:.4f}" in html
    assert "In 1 of 1 notes (100%), at least one personal span would remain readable" in html
    assert "i2b2 2014" in html and "0.9480" in html
    assert "1 note with gold but without annotations by this author." in html


def test_the_agreement_of_attributes_can_be_shown(read, sign_in):
    Span.objects.filter(label__name="PATIENT", start=0).update(attributes={"Status": "past"})
    html = check_page(sign_in(read.vic).get(url("score", read)))
    row = html.split('<th scope="row">Status</th>')[1].split("</tr>")[0]
    assert [cell.split("<")[0] for cell in row.split('<td class="num">')[1:]] == ["1", "1", "100%"] * 2
    assert "Show the agreement of attributes" in html


def test_published_tables_name_their_systems_and_misprints(read, sign_in):
    html = check_page(sign_in(read.vic).get(url("score", read)))
    # Beside a level, each figure has the corpus and the system.
    assert "0.8063 SIRM COVID-19 (Italian) <small>Bi-LSTM + CRF · FastText + Flair</small>" in html
    assert "0.9480 i2b2 2014 (English) <small>Bi-LSTM + CRF · Flair + GloVe · SGF = 32</small>" in html
    tables = html.split('id="published-title"')[1]
    row = tables.split("BERT base (IT) Cased · IT")[1].split("</tr>")[0]
    assert "[1]" in row and '<td class="num">0.8561</td>' in row
    assert "<li>[1] Misprint: table 4.11 has 0.7969" in tables.split(row)[1].split("</details>")[0]
    for source in ("Catelli 2021, table 4.2 (binary)", "Singh et al. 2025, table 3", "Xu et al. 2026, table 1"):
        assert f"<summary>{source}" in tables
    assert "gemma3 12b" in tables and "<details open" not in tables


def test_undefined_figures_are_shown_as_undefined(read, sign_in):
    html = check_page(sign_in(read.rev).get(url("score", read)))
    # No city was predicted, so precision is undefined and recall is 0.
    assert "undefined" in html and "0.0000" in html
    assert "Scores of the rewritten text" in html and "Extra (FP)" in html


def test_the_list_shows_who_can_be_scored(read, sign_in):
    client = sign_in(read.vic)
    html = check_page(client.get(SCORES))
    assert "rules-1" in html and url("score", read) in html and "100%" in html
    with patch.object(view, "LIST_CHARACTERS", 0):
        assert "100%" not in check_page(client.get(SCORES + "?gold=current"))
    freeze(project=read.project, actor=None)
    assert url("score", read, 1) in check_page(client.get(SCORES))
    assert url("score", read) in check_page(client.get(SCORES + "?gold=current"))
    assert client.get(SCORES + "?gold=7").status_code == 404


def test_nothing_to_score_says_what_to_do(world, sign_in):
    client = sign_in(world.rev)
    assert "Nothing to score yet" in check_page(client.get(SCORES))
    make.make_set(world.note, world.ann, [ROSSI], submitted=True)
    assert "No notes to compare" in check_page(client.get(SCORES))
    author = Author.objects.get(kind="annotator")
    html = check_page(client.get(url("score", world, author=author)))
    assert "No note has both this gold" in html and "1 note with annotations but without this gold." in html
    assert client.get(url("score_errors", world, author=author)).url == url("score", world, author=author)


def test_errors_in_their_sentences(read, sign_in):
    html = check_page(sign_in(read.rev).get(url("score_errors", read)))
    assert "3 errors" in html
    assert "<mark>Torino</mark>" in html and "<mark>54 anni</mark>" in html
    note = reverse("note", args=["covid", read.note.pk])
    assert f"{note}?set={read.run.annotation_sets.get().pk}#L1" in html
    (event,) = Event.objects.filter(verb=NOTE_READ)
    assert (event.document_id, event.data, event.actor) == (read.note.pk, {"what": "score"}, read.rev)


def test_filtered_errors(read, sign_in):
    client, words = sign_in(read.rev), {"Torino", "Bianchi", "54 anni"}
    for query, shown in (
        ({"kind": "missed"}, {"Torino"}), ({"kind": "label"}, {"Bianchi"}), ({"kind": "boundary"}, {"54 anni"}),
        ({"kind": "spurious"}, set()), ({"kind": "nonsense"}, words), ({"label": "PATIENT"}, {"Bianchi"}),
        ({"gold": "DOCTOR"}, {"Bianchi"}), ({"gold": "DOCTOR", "predicted": "PATIENT"}, {"Bianchi"}),
        ({"predicted": "AGE"}, {"54 anni"}), ({"note": 99999999}, set()), ({"page": 7}, words),
        ({"label": "%01%3Cb%3E"}, set()),
    ):  # fmt: skip
        html = client.get(url("score_errors", read, **query)).content.decode()
        assert {word for word in words if f"<mark>{word}</mark>" in html} == shown, query


def test_every_link_of_the_figures_leads_to_errors(read, sign_in):
    client = sign_in(read.rev)
    response = client.get(url("score", read))
    confusion = response.context["confusion"]
    links = [link for _name, n, link in response.context["kinds"] if n]
    links += [cell.url for row in confusion["rows"] for cell in row["cells"] if cell.url and not cell.right]
    assert len(links) == 5
    for link in links:
        assert "<mark>" in client.get(link).content.decode(), link


def test_one_split(read, sign_in):
    client = sign_in(read.rev)
    version, _ = freeze(project=read.project, actor=None)
    response = client.get(url("score", read, 1, split="dev"), follow=True)
    assert "not split into train, dev and test" in check_page(response)
    split_version(version=version, seed="s", shares={"train": 100}, actor=None)
    assert "Only notes of the split train." in check_page(client.get(url("score", read, 1, split="train")))
    assert "No note has both this gold" in check_page(client.get(url("score", read, 1, split="test")))
    assert "split=train" in client.get(url("score", read, 1, split="train")).context["errors_url"]


def test_the_rule_of_counting_is_chosen_on_the_page(read, sign_in):
    client = sign_in(read.rev)
    plain = check_page(client.get(url("score", read)))
    assert "is a whole word or number" in plain and "Published F1 by this rule" not in plain
    substrings = url("score", read, counting="substring")
    assert f'href="{substrings}#rewritten-title"' in plain
    page = client.get(substrings)
    html = check_page(page)
    assert "an age of 5 also occurs in 15" in html
    assert "Published F1 by this rule" in html and "gemma3 12b" in html and "0.88" in html
    assert page.context["counted"] == page.context["table"]["rewritten_substring"]
    assert '<input type="hidden" name="counting" value="substring">' in html
    assert client.get(url("score", read, counting="words")).status_code == 404


def test_all_or_nothing_of_chosen_labels_and_with_another_threshold(read, sign_in):
    client = sign_in(read.rev)
    html = check_page(client.get(url("score", read)))
    assert "By category" in html and "By label" in html and "Chosen labels" not in html
    page = client.get(url("score", read) + "?type=label:PATIENT&type=category:C3&threshold=0.5")
    html = check_page(page)
    assert "Chosen labels: PATIENT, AGE." in html and 'value="label:PATIENT"' in html
    # The age has other bounds: 2 of 7 characters are the same.
    rows = {name: (one["all_found"], chosen["all_found"]) for name, one, chosen in page.context["found_notes"]}
    assert rows["Text and position, any label"] == (0, 0)
    wide = client.get(url("score", read) + "?type=label:PATIENT&type=category:C3&threshold=0.25")
    rows = {name: (one["all_found"], chosen["all_found"]) for name, one, chosen in wide.context["found_notes"]}
    assert rows["Text and position, any label"] == (0, 1), "the town is missed, but not among the chosen labels"
    assert rows["Exact bounds and label"] == (0, 0)
    link = wide.context["errors_url"]
    assert "threshold=0.25" in link and "type=label%3APATIENT" in link
    assert 'name="threshold" value="0.25"' in check_page(client.get(link))


def test_by_label_the_page_has_the_fully_masked_notes_with_their_interval(read, sign_in):
    page = sign_in(read.rev).get(url("score", read))
    html = check_page(page)
    assert "Fully masked notes" in html and "exact interval at 95%" in html
    for row in page.context["labels"]:
        masked = row["fully_masked"]
        if masked["notes"]:
            low, high = percent(masked["low"]), percent(masked["high"])
            assert f"{masked['all_found']} of {masked['notes']}; {low} to {high}" in html


def test_by_label_the_page_has_the_share_with_tolerance(read, sign_in):
    page = sign_in(read.rev).get(url("score", read) + "?threshold=0.2")
    (age,) = [row for row in page.context["labels"] if row["label"] == "AGE"]
    assert age["all_or_nothing"]["tolerant"]["share"] == 1.0 and age["all_or_nothing"]["exact"]["share"] == 0.0
    assert "Text and position, same label" in check_page(page)
    # The doctor was labeled as a patient: the same category, with other labels.
    (name,) = [row for row in page.context["categories"] if row["name"] == "NAME"]
    assert (name["all_or_nothing"]["tolerant_category"]["share"], name["notes"]) == (1.0, 1)


@pytest.mark.parametrize("query", ["threshold=2", "threshold=x", "type=TOWN", "type=label:C0"])
def test_wrong_choices_lead_to_the_score_without_choices(read, sign_in, query):
    client = sign_in(read.rev)
    response = client.get(url("score", read) + f"?{query}", follow=True)
    assert response.redirect_chain[-1][0] == url("score", read)
    html = check_page(response)
    assert "must be a number from 0 to 1" in html or "There is no label or category" in html


def test_a_long_score_with_choices_is_a_job(read, sign_in):
    client = sign_in(read.vic)
    choices = {"threshold": "0.8", "type": "label:AGE"}
    with patch.object(asking, "MOST_CHARACTERS", 10):
        html = check_page(client.get(url("score", read, **choices)))
        assert "Not computed yet" in html and 'name="type" value="label:AGE"' in html
        assert client.get(url("score_errors", read)).url == url("score", read)
    sent = {"version": 0, "author": read.run.pk, "token": "6f0c6d5e-0000-4000-8000-000000000002", **choices}
    start = reverse("job_start_score", args=["covid"])
    first = client.post(start, sent)
    assert first.status_code == 302 and client.post(start, sent).url == first.url
    for wrong in ({"author": 0}, {"threshold": "x"}, {"split": "x"}):
        assert client.post(start, sent | wrong).url == SCORES
    (job,) = Job.objects.all()
    assert (job.params["threshold"], job.params["types"]) == (0.8, ["label:AGE"])
    result = run_score(project_id=read.project.pk, params=job.params, progress=silent)
    assert (result["threshold"], result["types"]) == (0.8, ["label:AGE"])
    with patch.object(asking, "MOST_CHARACTERS", 10):
        assert "Not computed yet" not in check_page(client.get(url("score", read, **choices)))
        assert "Not computed yet" in check_page(client.get(url("score", read)))


def test_a_label_set_without_a_mapping(read, sign_in):
    html = check_page(sign_in(read.rev).get(url("score", read, into="meddocan"), follow=True))
    assert "There is no mapping from “test” to" in html


def test_unknown_scores(read, sign_in):
    client = sign_in(read.rev)
    gold = Author.objects.get(kind="gold")
    other = make.make_author(read.other, kind="run", name="x")
    for page in (url("score", read, 9), url("score", read, author=gold), url("score", read, author=other)):
        assert client.get(page).status_code == 404


def test_markup_in_a_note_stays_text(world, sign_in):
    text = "<script>alert(1)</script> & <b>Mario</b>"
    note = make.make_note(world.project, text, "x<i>")
    for kind, spans in (("gold", [(29, 34, "PATIENT")]), ("run", [(0, 8, "PATIENT")])):
        make.make_set(note, make.make_author(world.project, kind=kind, name=f"{kind}<u>"), spans, submitted=True)
    world.run = Author.objects.get(kind="run")
    for page in ("score", "score_errors"):
        html = check_page(sign_in(world.rev).get(url(page, world)))
        assert "<script>alert" not in html and "<i>" not in html and "<u>" not in html


def test_the_list_takes_the_same_queries_for_any_number_of_notes(read, sign_in, django_assert_max_num_queries):
    client = sign_in(read.rev)
    client.get(url("score", read))
    with django_assert_max_num_queries(38):
        client.get(url("score", read))


def test_gold_from_a_review_of_the_run_is_marked_in_the_list(read, sign_in):
    """A reviewer accepts what the run suggests in a note without gold; another note's gold is made elsewhere."""
    client, note = sign_in(read.rev), make.make_note(read.project, read.note.text)
    assert "too optimistic" not in check_page(client.get(SCORES))
    own = make.make_set(note, read.run, [ROSSI], submitted=True)
    finish_review(document=note, author=read.run, user=read.rev, rest=set(own.spans.values_list("pk", flat=True)))
    said = "1 of the 5 gold spans were copied from rules-1, so its figures are too optimistic."
    html = check_page(client.get(SCORES))
    assert said in html and '<span class="tag warn">too optimistic</span>' in html
    assert said in check_page(client.get(url("score", read)))


def test_gold_made_of_the_author_directly_is_marked_in_the_list(read, sign_in):
    client, note = sign_in(read.rev), make.make_note(read.project, read.note.text)
    own = make.make_set(note, read.run, [ROSSI, CITY], submitted=True)
    make_gold(document=note, annotation_set=own, actor=read.rev)
    html = check_page(client.get(SCORES))
    assert "2 of the 6 gold spans were copied from rules-1, so its figures are too optimistic." in html


# ── Few notes ────────────────────────────────────────────────────────────────────────────────────────────────────────


def more_notes(world, number):
    """Add notes with gold and annotations of the run until the run has `number` notes."""
    gold = Author.objects.get(kind="gold")
    for n in range(number - world.run.annotation_sets.count()):
        note = make.make_note(world.project, world.note.text, f"more-{n}")
        make.make_set(note, gold, [ROSSI, AGE], submitted=True)
        make.make_set(note, world.run, [ROSSI] if n % 2 else [ROSSI, AGE], submitted=True)


def test_f1_on_few_notes_has_its_interval(read, sign_in):
    client = sign_in(read.vic)
    more_notes(read, 19)
    page = client.get(url("score", read))
    few, html = page.context["table"]["few_notes"], check_page(page)
    assert 0 < few["low"] < page.context["first"]["micro"]["f1"] < few["high"] < 1
    shown = f"[{few['low']:.3f}, {few['high']:.3f}]"
    assert html.count(shown) == 2, "in the headline and in the table of levels"
    assert html.count(">few notes<") == 6, "in the headline and beside each section with F1"
    assert "On fewer than 20 notes, the F1 of exact spans has a 95% interval" in html
    listed = check_page(client.get(SCORES))
    assert listed.count(shown) == listed.count(">few notes<") == listed.count("On fewer than 20 notes") == 1
    out = io.StringIO()
    call_command("score", "covid", "--author", "rules-1", stdout=out)
    said = f"Few notes. F1 of exact spans: 95% interval {few['low']:.4f} to {few['high']:.4f}"
    assert said in out.getvalue().splitlines()


def test_f1_on_twenty_notes_has_no_interval(read, sign_in):
    client = sign_in(read.vic)
    more_notes(read, 20)
    for html in (check_page(client.get(url("score", read))), check_page(client.get(SCORES))):
        assert "few notes" not in html and "95% interval" not in html and "fewer than 20" not in html
    out = io.StringIO()
    call_command("score", "covid", "--author", "rules-1", stdout=out)
    assert "Few notes" not in out.getvalue()


def test_f1_on_one_note_says_why_it_has_no_interval(read, sign_in):
    client = sign_in(read.vic)
    for html in (check_page(client.get(url("score", read))), check_page(client.get(SCORES))):
        assert ">few notes<" in html and '<span class="interval">' not in html
    assert "An interval over notes needs at least two notes." in check_page(client.get(url("score", read)))
