"""Plots and coefficients as markup: numbers as text, nothing for undefined values, and all names escaped."""

import re

import pytest

from annotations.agreement.templatetags.coefficients import around, coefficient, plain
from annotations.core.templatetags import plots
from annotations.core.templatetags.clusters import Cluster, clustered_bars
from annotations.core.templatetags.plots import Point, trend_plot


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
