"""The agreement page shows the command's numbers with their unit, and the annotation sets that don't count."""

import re
from html import unescape

import pytest
from django.urls import reverse

from annotations.agreement.rules.coefficients import NEITHER_MARKED, NOTHING_MARKED
from annotations.agreement.rules.units import ComparedUnit, granularities
from annotations.agreement.selectors import figures as figure_selectors
from annotations.agreement.services import figures as service
from annotations.agreement.views import agreement as views
from annotations.models import AnnotationSet, Figures, Span
from tests import factories as make
from tests.held import made_once
from tests.worlds.checks import check_page
from tests.worlds.commands import answered
from tests.worlds.pages import make_world

url = reverse("agreement", args=["covid"])


@pytest.fixture
def read(world):
    """Only the first note."""
    AnnotationSet.objects.exclude(document=world.note).delete()
    return world


def make_ward():
    """Seven notes of ann and ben, who differ in how much of the first note's age they mark.

    Of the six others cle annotates half; she labels the patient as a doctor.
    """
    world = make_world()
    make.make_set(world.note, world.ann, [(0, 11, "PATIENT"), (13, 15, "AGE")], submitted=True)
    make.make_set(world.note, world.ben, [(0, 11, "PATIENT"), (13, 20, "AGE")], submitted=True)
    cle = make.make_member(world.project, user="cle")
    for number in range(6):
        note = make.make_note(world.project, name=f"more-{number}")
        make.make_set(note, world.ann, [(0, 11, "PATIENT"), (13, 15, "AGE")], submitted=True)
        make.make_set(note, world.ben, [(0, 11, "PATIENT"), (34, 44, "DATE")][: 1 + number % 2], submitted=True)
        if number % 2:
            make.make_set(note, cle, [(0, 11, "DOCTOR"), (13, 15, "AGE")], submitted=True)
    return world


made, world = made_once(make_ward)


def words_of(html):
    """The text of the page, without explanations that are closed."""
    return " ".join(unescape(re.sub(r'<span class="term-text".*?</span>|<[^>]+>', " ", html)).split())


@pytest.mark.both_databases
def test_a_page_of_notes_reads_only_its_part_of_the_stored_figures(world, rev, monkeypatch):
    """The pages together have the notes in the order of the command."""
    monkeypatch.setattr(service, "PART", 2)
    monkeypatch.setattr(views, "NOTES", 3)
    expected = [row["name"] for row in answered("agreement", "covid", "--per", "note")["per_note"]]

    def shown(page):
        return [row["name"] for row in rev.get(url, {"page": page}).context["note_rows"]]

    assert [name for page in (1, 2, 3) for name in shown(page)] == expected
    assert len(expected) == 7
    stored = Figures.objects.filter(kind="notes:token:subcategory").order_by("pk")
    assert [len(part.value["rows"]) for part in stored] == [2, 2, 2, 1]
    stored.filter(pk__in=[part.pk for part in stored[2:]]).delete()
    assert shown(1) == expected[:3]


def test_figures_with_their_unit(read, rev):
    html = check_page(rev.get(url))
    # 21 tokens (4 marked by somebody, 17 by nobody); one of them differs.
    assert "0.95" in html and " unmarked" in html
    assert "Nothing is excluded: there are no drafts" in html
    assert "An interval over notes needs at least two notes." in html
    published = html.split("Published figures")[1]
    assert "Catelli 2021, section 3.1.2" in published and "0.68" in published and "0.71" in published
    for unit, bio in (("token", True), ("marked", True), ("character", False), ("entity", False), ("nonsense", True)):
        assert ("BIO prefix" in check_page(rev.get(url, {"unit": unit}))) == bio, unit


@pytest.mark.parametrize("unit", ["token", "entity"])
def test_the_page_and_the_command_give_the_same_numbers(world, sign_in, unit):
    for granularity in granularities(ComparedUnit(unit)):
        compare(world, sign_in, unit, granularity)


def compare(world, sign_in, unit, granularity):
    page = sign_in(world.mia).get(url, {"unit": unit, "granularity": granularity})
    shown = words_of(check_page(page)).replace("−", "-")
    result = answered("agreement", "covid", "--unit", unit, "--granularity", granularity, "--per", "note")
    alpha, (recall, _exact) = result["alpha"], result["recall"]
    expected = [
        f"{alpha['value']:.2f} 95% interval [{alpha['low']:.2f}, {alpha['high']:.2f}] {result['words']}",
        f"Fleiss' κ {result['fleiss']['value']:.2f}",
        f"One annotator finds about {100 * recall['annotators'][0]['value']:.0f}%",
    ]
    for row in result["pairs"]:
        expected.append(" ".join(f"{row[name]['value']:.2f}" for name in ("observed", "exact", "overlap")))
        expected.append(f"{row['a']} · {row['b']} {row['kappa']['value']:.2f}")
    if granularity != "binary":
        expected += [f" {row['alpha']['value']:.2f} " for row in result["labels"]]
    assert [words for words in expected if words not in shown] == []
    for row in result["per_note"]:
        assert f"{row['name']} {row['alpha']:.2f}" in shown.replace(f" disagreements in {row['name']}", "")
    assert [row["round"] for row in result["rounds"]] == [1]


def test_the_page_begins_with_what_the_figures_say(world, sign_in):
    html = check_page(sign_in(world.mia).get(url))
    first = html.split('id="answer-title"')[1].split("</section>")[0]
    result = answered("agreement", "covid")
    assert 'data-verdict="poor"' in first and f"Not good enough yet: α {result['alpha']['value']:.2f}." in first
    most = max(result["labels"], key=lambda row: row["units"] - row["full"])
    assert f"Most disagreement: {most['value']}, in {most['units'] - most['full']} of {most['units']}" in first
    assert reverse("disagreements", args=["covid"]) in first
    assert "<details open" not in html.split("folds")[1].replace(' id="left-out"', "")
    asked = check_page(sign_in(world.mia).get(url, {"unit": "entity", "measure": "exact"})).split("folds")[1]
    assert 'id="pairs" open' in asked and "<details open" in asked, "what was asked for is unfolded"


# ── What isn't there ─────────────────────────────────────────────────────────────────────────────────────────────────
def test_without_figures_the_page_says_why(read, mia):
    Span.objects.all().delete()
    AnnotationSet.objects.update(version=7)
    html = check_page(mia.get(url))
    for words in (
        "undefined", "All values are the same", "No labels were used", "No estimate. Nobody marked anything.",
    ):  # fmt: skip
        assert words in html
    assert not re.search(r"\bnan\b", html, re.IGNORECASE)
    for unit in ("marked", "entity"):
        result = answered("agreement", "covid", "--unit", unit, "--per", "note")
        assert (result["notes"], result["observed"]["value"], result["units"]) == (1, None, 0)
        assert result["alpha"]["why"] == result["fleiss"]["why"] == result["per_note"][0]["why"] == NOTHING_MARKED
        assert {row["kappa"]["why"] for row in result["pairs"]} == {NEITHER_MARKED}
    read.note.annotation_sets.first().delete()
    AnnotationSet.objects.update(state="draft")
    html = check_page(mia.get(url))
    assert "No figures yet" in html and "1 draft" in html
    assert "No note has been submitted by two annotators" in answered("agreement", "covid")["alpha"]["why"]


def test_sets_that_count_nowhere_are_counted(read, sign_in):
    """Markup in names is text."""
    nasty = make.make_member(read.project, user="<b>zoe</b>")
    make.make_set(read.note, nasty, [(0, 11, "PATIENT")], submitted=True)
    make.change(read.note, name="<img src=x>")
    other = make.make_note(read.project)
    make.make_set(other, read.ann, [(0, 11, "PATIENT")], submitted=True, seeded=True)
    make.make_set(other, read.ben, [(0, 11, "PATIENT")], submitted=True, blind=False)
    html = check_page(sign_in(read.mia).get(url))
    assert "<b>zoe" not in html and "<img src=x" not in html
    html = words_of(html)
    assert answered("agreement", "covid")["left_out"] == {"not_blind": 1, "seeded": 1, "drafts": 0}
    assert "1 submitted annotation set was seeded by a model" in html
    assert "1 submitted annotation set is by a person who could see other people's spans" in html
    assert "1 note, submitted by two or more of 3 annotators" in html


# ── Kept, and never stale ────────────────────────────────────────────────────────────────────────────────────────────
def test_from_the_second_look_on_nothing_is_read_or_computed(world, mia, monkeypatch, django_assert_max_num_queries):
    first = mia.get(url).content
    monkeypatch.setattr(service, "figures", None)
    with django_assert_max_num_queries(26):
        again = mia.get(url).content
    token = rb"[A-Za-z0-9]{64}"
    assert re.sub(token, b"", first) == re.sub(token, b"", again)


def test_large_projects_are_for_a_worker(world, vic, monkeypatch):
    with monkeypatch.context() as patched:
        keys = iter(range(100))
        patched.setattr(figure_selectors, "content_key", lambda *_: str(next(keys)))
        assert "Annotations changed while the figures were computed" in check_page(vic.get(url))
    monkeypatch.setattr(service, "AT_ONCE_ANNOTATION_SETS", 3)
    assert reverse("agreement_start", args=["covid"]) in check_page(vic.get(url))
    service.figures_of(project=world.project, unit=service.ComparedUnit.TOKEN)
    assert "Computing figures" not in check_page(vic.get(url))
