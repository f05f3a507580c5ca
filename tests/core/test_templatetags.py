"""What tags and filters write: times, shares, contents, explanations, reasons, plots; all names escaped."""

import json
import re
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from django.template import Context, Template
from django.test import RequestFactory
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.html import json_script
from django.utils.safestring import SafeString

from annotations.agreement.rules.bootstrap import FEW
from annotations.agreement.rules.coefficients import NO_UNITS, NOTHING_MARKED, only_one_value
from annotations.agreement.templatetags.coefficients import around, coefficient, percent, plain
from annotations.core.addresses import path_to
from annotations.core.templatetags import plots
from annotations.core.templatetags.clusters import Cluster, clustered_bars
from annotations.core.templatetags.moments import calendar_day, day, day_text, moment, moment_text
from annotations.core.templatetags.plots import Point, trend_plot
from annotations.core.templatetags.reasons import reason
from annotations.core.templatetags.static import script_data
from annotations.core.templatetags.terms import glossary
from annotations.installation import CODE
from annotations.models import Role
from tests.languages import bracket_marked_texts

ROOT = Path(__file__).resolve().parents[2]
CASES = json.loads((ROOT / "tests" / "cases" / "formats.json").read_text())
AT = datetime(2026, 11, 23, 23, 5, 33, tzinfo=UTC)


@pytest.mark.parametrize(("at", "text", "title"), CASES["moments"])
def test_points_in_time(at, text, title):
    known = datetime.fromisoformat(at)
    with timezone.override(CASES["zone"]):
        local = timezone.localtime(known).isoformat(timespec="seconds")
        assert moment(at) == moment(known) == f'<time datetime="{local}" title="{title}">{text}</time>'
        assert day(known) == f'<time datetime="{local}" title="{title}">{text.partition(",")[0]}</time>'
        assert (moment_text(known), day_text(known)) == (text, text.partition(",")[0])


def test_the_data_of_a_page_are_as_django_writes_them_and_end_no_element():
    data = {
        "text": '</script><!-- & \u2028 ñ 🏥 "\\',
        "list": [1, 2.5, None, True, ("a", SafeString("<b>"))],
        "role": Role.VIEWER,
    }
    written, plain = script_data(data, "a"), json_script(data, "a")
    start = '<script id="a" type="application/json">'
    assert [each.removeprefix(start).count("<") for each in (written, plain)] == [1, 1]
    read = [json.loads(each.removeprefix(start).removesuffix("</script>")) for each in (written, plain)]
    assert read[0] == read[1] and "&" not in written


def test_paths_are_those_of_reverse():
    assert path_to("annotate", "a-b", 7) == reverse("annotate", args=["a-b", 7]) == path_to("annotate", "a-b", "7")
    assert path_to("review", "x", 0, 12) == reverse("review", args=["x", 0, 12]) and path_to("projects") == "/"
    with pytest.raises(NoReverseMatch):
        path_to("annotate", "a-b", -1)


def test_no_time_is_empty():
    assert moment(None) == day(None) == moment("") == moment_text(None) == day_text(None) == ""
    assert (calendar_day(date(2026, 11, 3)), calendar_day(None)) == ("3 Nov 2026", "")


def test_times_in_translated_sentences():
    template = Template(
        "{% load i18n moments %}{% blocktranslate with when=at|moment %}Started {{ when }}{% endblocktranslate %}"
        '<p title="{{ at|moment_text }}">{{ none|moment|default:"–" }}</p>'
    )
    with timezone.override("Asia/Tokyo"):
        assert template.render(Context({"at": AT, "none": None})) == (
            'Started <time datetime="2026-11-24T08:05:33+09:00" title="24 Nov 2026, 08:05:33 (Asia/Tokyo)">'
            '24 Nov 2026, 08:05</time><p title="24 Nov 2026, 08:05">–</p>'
        )


@pytest.mark.parametrize(("share", "text"), CASES["percents"])
def test_shares(share, text):
    assert percent(share) == text


# ── The contents list of long pages ──


SECTION = '<section aria-labelledby="{0}"><h2 class="x" id="{0}">{1}</h2></section>'


def shown(*sections: tuple[str, str]) -> str:
    content = "".join(SECTION.format(pk, heading) for pk, heading in sections)
    template = Template("{% load contents %}{% contents %}{{ content|safe }}{% endcontents %}")
    return template.render(Context({"content": content}))


def test_it_lists_the_sections_by_their_names():
    html = shown(
        ("one", "Scores &amp; errors <span class='tag'>few notes</span>"),
        ("two", '<a href="/x">Agreement</a>\n <small class="mute">4</small>'),
        ("three", "Notes"),
    )
    assert '<nav class="contents" aria-label="Contents">' in html
    assert '<li><a href="#one">Scores &amp; errors</a></li>' in html
    assert '<li><a href="#two">Agreement</a></li><li><a href="#three">Notes</a></li>' in html
    assert html.index("<nav") < html.index("<section") and html.count("<h2") == 3


# ── Words that pages explain: each is in the glossary, and holds its own explanation ──


USED = re.compile(r'{% term "([^"]+)"')
SUMMARY = re.compile(r"<(summary|label|a)\b(?:(?!</\1>).)*{% term ", re.S)


def test_every_word_that_a_template_explains_is_in_the_glossary():
    templates = Path(__file__).parents[2] / "templates"
    used = {word for file in templates.rglob("*.html") for word in USED.findall(file.read_text(encoding="utf-8"))}
    assert len(used) > 5 and used <= glossary().keys()
    inside = [file.name for file in templates.rglob("*.html") if SUMMARY.search(file.read_text(encoding="utf-8"))]
    assert not inside, "a button can't be inside of these"
    assert glossary()["leak gate"] == glossary()["finding"]
    assert not any("**" in meaning or "](" in meaning for meaning in glossary().values())


def test_each_word_opens_its_own_explanation():
    """An explanation inside of a folded part could not be shown for a word outside."""
    page = Template('{% load terms %}{% term "leak gate" %} {% term "leak gate" shown %}')
    html = page.render(Context({"shown": "<gate>", "request": RequestFactory().get("/")}))
    names = re.findall(r'popovertarget="([^"]+)"', html)
    assert len(set(names)) == 2 and names == re.findall(r'<span class="term-text" id="([^"]+)" popover>', html)
    assert (
        Template('{% load terms %}{% term "95% interval" _("95% range") %}').render(Context()).count("95% range<") == 1
    )
    assert "&lt;gate&gt;</button>" in html and glossary()["leak gate"][:30] in html
    with pytest.raises(KeyError):
        Template('{% load terms %}{% term "moon" %}').render(Context())


# ── Reasons for undefined figures: every reason of the domain can be translated ──


FOLDER = CODE / "annotations" / "agreement" / "rules"
WRITTEN = {
    text
    for file in FOLDER.glob("*.py")
    for text in re.findall(r'(?:Value\(None, |\bor |whole\.why or )"([A-Z][^"]+ [^"]+)"', file.read_text())
}


@pytest.fixture
def bracketed(monkeypatch):
    bracket_marked_texts(monkeypatch)


def test_every_reason_is_known(bracketed):
    assert len(WRITTEN) >= 6
    constants = {NO_UNITS, NOTHING_MARKED, FEW.why}
    assert [text for text in WRITTEN | constants if reason(text) != f"⟦{text}⟧"] == []


def test_values_are_kept_and_an_unknown_reason_is_left_unchanged(bracketed):
    assert reason(only_one_value(["ΟΝΟΜΑ"])) == f"⟦{only_one_value(['ΟΝΟΜΑ'])}⟧"
    assert reason("The figure is undefined in 1,200 of 2,000 samples of the notes.").startswith("⟦The figure")
    assert reason("something else") == "something else" and reason("") == ""


# ── Plots and coefficients as markup: numbers as text, nothing for undefined values, and all names escaped ──


def test_coefficients():
    assert (plain(-0.1234), plain(-0.0001)) == ("−0.12", "0.00")
    figure = {"value": None, "why": "<only> one value", "low": None, "high": None}
    assert coefficient(figure) == '<span class="mute" title="&lt;only&gt; one value">undefined</span>'
    assert around(figure) == ""
    known = {"value": 0.5, "why": "", "low": -0.25, "high": 0.75}
    assert coefficient(known, "/x?a=1&b=2") == '<a href="/x?a=1&amp;b=2">0.50</a>'
    assert "[−0.25, 0.75]" in around(known)


def test_a_trend_plot_gives_its_values_and_stays_within_its_scale():
    points = [Point("Round <1>", 0.5, 0.25, 0.75, "3 notes"), Point("Round 2", None), Point("Round 3", -0.3)]
    svg = trend_plot(points, "Alpha", "Guideline round", "α")
    assert 'aria-label="Alpha: Round &lt;1&gt; 0.50; Round 2 undefined; Round 3 -0.30"' in svg
    assert "<1>" not in svg and "style=" not in svg
    assert {"0.50", "undefined", "−0.50", "Guideline round"} <= set(re.findall(">([^<>]+)</text>", svg))
    assert (svg.count("<circle"), svg.count("plot-whisker")) == (2, 1)


def test_bars_and_heat():
    assert plots.interval_bar(None) == plots.share_bar(None) == ""
    beyond = plots.interval_bar(1.7), plots.interval_bar(-0.1)
    assert "<path" in beyond[0] and "<circle" not in beyond[1], "a value beyond the scale is marked"
    assert plots.bar_scale("0%", "50%", "100%").count("<text") == 3
    assert "plot-around" in plots.interval_bar(0.5, 0.4, 0.6) and 'width="70.0"' in plots.share_bar(0.5)
    values = {None: "none", -0.5: "0", 0: "0", 0.2: "1", 0.79: "3", 1: "4"}
    assert {value: plots.heat(value) for value in values} == {value: f"heat-{step}" for value, step in values.items()}


@pytest.mark.parametrize(
    ("values", "whole", "texts", "cut"),
    [
        ([], False, "0.0 0.2 0.4 0.6 0.8 1.0", ""),
        ([0.9], False, "0.0 0.2 0.4 0.6 0.8 1.0", ""),
        ([0.1, 0.9], False, "0.0 0.2 0.4 0.6 0.8 1.0", ""),
        ([0.81, 0.89], False, "0.80 0.82 0.84 0.86 0.88 0.90", "0.80"),
        # Noise does not fill the plot.
        ([0.9, 0.9001], False, "0.80 0.82 0.84 0.86 0.88 0.90 0.92", "0.80"),
        ([0, 0], False, "0.0 0.2 0.4 0.6 0.8 1.0", ""),
        ([1, 3], True, "0 1 2 3", ""),
        ([1200, 4100], True, "0 1,000 2,000 3,000 4,000 5,000", ""),
        ([-0.2, 0.2], False, "−0.2 −0.1 0.0 0.1 0.2", ""),
        ([0.001, 0.004], False, "0.000 0.001 0.002 0.003 0.004", ""),
    ],
)
def test_axes_fit_the_data_and_say_where_they_start(values, whole, texts, cut):
    found = plots.axis(values, whole=whole)
    assert found.texts == texts.split()
    assert (cut in found.cut) if cut else found.cut == ""


def test_clustered_bars():
    svg = clustered_bars([Cluster("CITY", [1200, 600]), Cluster("AGE", [0, 300])], ["Train", "Test"], "Spans")
    assert re.findall(r'<text class="plot-small"[^>]*>([\d,]+)</text>', svg) == ["1,200", "600", "0", "300"]
    bars = re.findall(r'<rect class="plot-series-(\d)" x="[\d.]+" y="[\d.]+" width="([\d.]+)" height="12"/>', svg)
    assert bars == [("0", "200.0"), ("1", "100.0"), ("0", "0.0"), ("1", "50.0")]
    assert "Train" in svg and 'aria-label="Spans"' in svg and 'role="img"' in svg
    assert "Train" not in clustered_bars([Cluster("CITY", [1])], [], "Spans"), "one series needs no legend"
    assert clustered_bars([], ["Train"], "Spans") == ""
    long = clustered_bars([Cluster("<b>" + "x" * 40, [1])], [], "Spans")
    assert "<b>" not in long and "…" in long
