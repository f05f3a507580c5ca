"""The agreement page shows the command's numbers with their unit, and the annotation sets that don't count."""

import io
import json
import re
from datetime import UTC, datetime
from html import unescape

import pytest
from django.core.management import call_command
from django.urls import reverse

from annotations.agreement.services import figures as service
from annotations.domain.agreement import Unit, granularities
from annotations.models import Amendment, AnnotationSet
from tests import factories as make
from tests.worlds.checks import check_page


@pytest.fixture
def url(world):
    return reverse("agreement", args=[world.project.slug])


@pytest.fixture
def read(world):
    """Both annotators submitted the first note; they differ in how much of the age they mark."""
    make.make_set(world.note, world.ann, [(0, 11, "PATIENT"), (13, 15, "AGE")], submitted=True)
    make.make_set(world.note, world.ben, [(0, 11, "PATIENT"), (13, 20, "AGE")], submitted=True)
    return world


@pytest.fixture
def ward(read):
    """Six more notes, of which cle annotates half; she labels the patient as a doctor."""
    cle = make.make_member(read.project, user="cle")
    for number in range(6):
        note = make.make_note(read.project, name=f"more-{number}")
        make.make_set(note, read.ann, [(0, 11, "PATIENT"), (13, 15, "AGE")], submitted=True)
        make.make_set(note, read.ben, [(0, 11, "PATIENT"), (34, 44, "DATE")][: 1 + number % 2], submitted=True)
        if number % 2:
            make.make_set(note, cle, [(0, 11, "DOCTOR"), (13, 15, "AGE")], submitted=True)
    return read


def command(*args):
    out = io.StringIO()
    call_command("agreement", *args, "--json", stdout=out)
    return json.loads(out.getvalue())


def words_of(html):
    """The text of the page."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def test_figures_with_their_unit(read, sign_in, url):
    html = check_page(sign_in(read.rev).get(url))
    # 21 tokens (4 marked by somebody, 17 by nobody); one of them differs.
    assert "0.95" in html
    assert " unmarked" in html
    assert "Nothing is excluded: there are no drafts" in html
    assert "An interval over notes needs at least two notes." in html
    assert "One round so far" in html
    published = html.split("Published figures")[1]
    assert "Catelli 2021, section 3.1.2" in published and "0.68" in published and "0.71" in published


def test_every_unit_has_its_page(ward, sign_in, url):
    client = sign_in(ward.vic)
    for unit, bio in (("token", True), ("marked", True), ("character", False), ("entity", False), ("nonsense", True)):
        html = check_page(client.get(url, {"unit": unit}))
        assert ("BIO" in html) == bio, unit


@pytest.mark.parametrize("unit", ["token", "entity"])
def test_the_page_and_the_command_give_the_same_numbers(ward, sign_in, url, unit):
    for granularity in granularities(Unit(unit)):
        compare(ward, sign_in, url, unit, granularity)


def compare(ward, sign_in, url, unit, granularity):
    shown = words_of(check_page(sign_in(ward.mia).get(url, {"unit": unit, "granularity": granularity})))
    result = command("covid", "--unit", unit, "--granularity", granularity, *(
        word for per in ("label", "pair", "note", "round") for word in ("--per", per)
    ))  # fmt: skip
    low, high = result["alpha_interval"]
    assert f"{result['alpha']:.3f} 95% interval [{low:.3f}, {high:.3f}] {result['words']}" in shown.replace("−", "-")
    assert f"Fleiss' κ {result['fleiss']['value']:.3f}" in shown.replace("−", "-")
    for row in result["per_pair"]:
        figures = " ".join(f"{row[name]['value']:.3f}" for name in ("observed", "exact", "overlap"))
        assert f"{row['a']} · {row['b']} {row['kappa']['value']:.3f}" in shown.replace("−", "-")
        assert figures in shown.replace("−", "-")
    for row in result["per_note"]:
        assert f"{row['name']} {row['alpha']:.3f}" in shown.replace("−", "-").replace(
            f" disagreements in {row['name']}", ""
        )
    for row in result["per_label"]:
        if granularity != "binary":
            assert f" {row['alpha']['value']:.3f} " in shown.replace("−", "-")
    one = result["recall"]["overlap"]["annotators"][0]
    assert f"One annotator finds about {100 * one['value']:.0f}%" in shown
    assert [row["round"] for row in result["per_round"]] == [1]


def test_rounds_begin_with_amendments(ward, sign_in, url):
    """Notes submitted before and after; one has annotation sets from both rounds and belongs to the later round."""
    Amendment.objects.create(
        project=ward.project, number=1, text="Ages are marked with their unit.", guidelines_version=1,
        at=datetime(2026, 3, 1, tzinfo=UTC),
    )  # fmt: skip
    early, late = datetime(2026, 2, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC)
    AnnotationSet.objects.update(submitted_at=late)
    before = AnnotationSet.objects.filter(document__name__in=["more-0", "more-1"])
    before.update(submitted_at=early)
    AnnotationSet.objects.filter(document__name="more-2", author__name="ann").update(submitted_at=early)
    html = check_page(sign_in(ward.mia).get(url))
    assert "1 note has annotation sets from several rounds" in words_of(html)
    assert "<polyline" in html
    assert html.count("plot-dot") > 2
    rows = command("covid", "--per", "round")["per_round"]
    assert [(row["round"], row["notes"], row["mixed"]) for row in rows] == [(1, 2, 0), (2, 5, 1)]
    assert (
        f"Round 1 {rows[0]['alpha']['value']:.2f}" in words_of(html)
        or f"Round 1 {rows[0]['alpha']['value']:.2f}" in html
    )


def test_every_figure_leads_to_what_is_behind_it(ward, sign_in, url):
    """Links hold only ids."""
    html = check_page(sign_in(ward.mia).get(url, {"unit": "marked"}))
    links = {unescape(link) for link in re.findall(r'href="([^"]*disagreements/[^"]*)"', html)}
    authors = sorted(set(AnnotationSet.objects.values_list("author_id", flat=True)))
    wanted = [
        f"pair={authors[0]}-{authors[1]}",
        f"note={ward.note.pk}",
        f"label={make.label_of(ward.project, 'AGE').pk}",
    ]
    for parameter in wanted:
        assert any(f"{parameter}&unit=marked" in link for link in links), parameter


def test_notes_are_paged(read, sign_in, url):
    for number in range(30):
        note = make.make_note(read.project, name=f"more-{number:02}")
        for person in (read.ann, read.ben):
            make.make_set(note, person, [(0, 11, "PATIENT")], submitted=True)
    client = sign_in(read.mia)
    first, second = (check_page(client.get(url, {"page": page})) for page in (1, 2))
    assert read.note.name in first, "the one on which they differ comes first"
    assert "more-00" in first and "more-00" not in second
    assert "more-29" in second


# ── What isn't there ─────────────────────────────────────────────────────────────────────────────────────────────────
def test_no_figures_yet_says_what_is_missing(world, sign_in, url):
    make.make_set(world.note, world.ann, [(0, 11, "PATIENT")])
    html = check_page(sign_in(world.mia).get(url))
    assert "No figures yet" in html
    assert "1 draft" in html


def test_undefined_says_why(world, sign_in, url):
    for person in (world.ann, world.ben):
        make.make_set(world.note, person, [], submitted=True)
    html = check_page(sign_in(world.mia).get(url))
    assert "undefined" in html
    assert "All values are the same" in html
    assert "No labels were used" in html
    assert "No estimate. Nobody marked anything." in html
    assert not re.search(r"\bnan\b", html, re.IGNORECASE)


def test_sets_that_count_nowhere_are_counted(read, sign_in, url):
    other = make.make_note(read.project)
    make.make_set(other, read.ann, [(0, 11, "PATIENT")], submitted=True, seeded=True)
    make.make_set(other, read.ben, [(0, 11, "PATIENT")], submitted=True, blind=False)
    html = words_of(check_page(sign_in(read.mia).get(url)))
    assert "1 submitted annotation set was seeded by a model" in html
    assert "1 submitted annotation set is by a person who could see other people's spans" in html
    assert "1 note, submitted by two or more of 2 annotators" in html


def test_markup_in_names_is_text(read, sign_in, url):
    nasty = make.make_member(read.project, user="<b>zoe</b>")
    make.make_set(read.note, nasty, [(0, 11, "PATIENT")], submitted=True)
    read.note.name = "<img src=x>"
    read.note.save()
    html = check_page(sign_in(read.mia).get(url))
    assert "&lt;b&gt;zoe" in html
    assert "<b>zoe" not in html and "<img src=x" not in html


def test_whoever_may_adjudicate_unknowing_sees_no_names(ward, sign_in, url):
    ward.project.anonymous_adjudication = True
    ward.project.save()
    blind, knowing = (check_page(sign_in(person).get(url)) for person in (ward.rev, ward.mia))
    assert "Annotator A" in blind and "cle" not in words_of(blind).split()
    assert "pair=" not in blind
    assert "cle" in words_of(knowing).split()


# ── Kept, and never stale ────────────────────────────────────────────────────────────────────────────────────────────
def test_from_the_second_look_on_nothing_is_read_or_computed(
    ward, sign_in, url, monkeypatch, django_assert_max_num_queries
):
    client = sign_in(ward.mia)
    first = client.get(url).content
    monkeypatch.setattr(service, "figures", None)
    with django_assert_max_num_queries(26):
        again = client.get(url).content
    strip = lambda page: re.sub(rb"[A-Za-z0-9]{64}", b"", page)  # noqa: E731 - the form's token
    assert strip(first) == strip(again)


def test_large_projects_are_for_a_worker(ward, sign_in, url, monkeypatch):
    monkeypatch.setattr(service, "AT_ONCE_ANNOTATION_SETS", 3)
    html = check_page(sign_in(ward.vic).get(url))
    assert "Computing figures" in html
    assert reverse("agreement_start", args=["covid"]) in html
    assert "What the figures exclude" in html
    service.figures_of(project=ward.project, unit=service.Unit.TOKEN)
    assert "Computing figures" not in check_page(sign_in(ward.vic).get(url))


def test_sets_that_keep_changing(ward, sign_in, url, monkeypatch):
    keys = iter(range(100))
    monkeypatch.setattr(service, "content_key", lambda *_: str(next(keys)))
    html = check_page(sign_in(ward.vic).get(url))
    assert "Annotations changed while the figures were computed" in html


def test_many_amendments_come_page_by_page(world, sign_in):
    client, page = sign_in(world.ann), reverse("amendments", args=["covid"])
    assert "No amendments yet" in check_page(client.get(page))
    now = datetime(2026, 1, 1, tzinfo=UTC)
    Amendment.objects.bulk_create(
        Amendment(project=world.project, number=n, text=f"Rule {n:02}.", guidelines_version=n, at=now)
        for n in range(1, 32)
    )
    first, second = (check_page(client.get(page, {"page": n})) for n in (1, 2))
    assert "Rule 31." in first and "Rule 01." not in first and "1–30 of 31 amendments" in first
    assert "Rule 01." in second and "Rule 31." not in second and 'rel="prev"' in second
