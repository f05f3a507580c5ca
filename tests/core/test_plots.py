"""Plots and coefficients as markup: numbers as text, nothing for undefined values, and all names escaped."""

import pytest

from annotations.core.templatetags.coefficients import around, coefficient, percent, plain
from annotations.core.templatetags.plots import Point, heat, interval_bar, share_bar, trend_plot


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (None, ""), (0.0, "0 %"), (0.001, "0.1 %"), (0.00001, "0.1 %"), (0.5, "50 %"), (0.94, "94 %"),
        (0.986, "98.6 %"), (0.9989, "99.89 %"), (0.99999, "99.99 %"), (1.0, "100 %"),
    ],
)  # fmt: skip
def test_shares_in_percent(share, shown):
    assert percent(share) == shown


def test_coefficients():
    assert plain(-0.1234) == "−0.123"
    assert plain(-0.0001) == "0.000"
    figure = {"value": None, "why": "<only> one value", "low": None, "high": None}
    assert coefficient(figure) == '<span class="mute" title="&lt;only&gt; one value">undefined</span>'
    assert around(figure) == ""
    known = {"value": 0.5, "why": "", "low": -0.25, "high": 0.75}
    assert coefficient(known, "/x?a=1&b=2") == '<a href="/x?a=1&amp;b=2">0.500</a>'
    assert "[−0.250, 0.750]" in around(known)


def test_a_trend_plot_gives_its_values_and_stays_within_its_scale():
    points = [Point("Round <1>", 0.5, 0.25, 0.75, "3 notes"), Point("Round 2", None), Point("Round 3", -0.3)]
    svg = trend_plot(points, "Alpha")
    assert 'aria-label="Alpha: Round &lt;1&gt; 0.50; Round 2 undefined; Round 3 -0.30"' in svg
    assert "<1>" not in svg and "style=" not in svg
    assert ">0.50</text>" in svg and ">undefined</text>" in svg and ">-0.4</text>" in svg
    assert svg.count("<circle") == 2
    assert svg.count("plot-whisker") == 1


def test_bars_and_heat():
    assert interval_bar(None) == share_bar(None) == ""
    assert 'cx="136' in interval_bar(1.7), "values beyond the scale are drawn at its edge"
    assert "plot-around" in interval_bar(0.5, 0.4, 0.6)
    assert 'width="70.0"' in share_bar(0.5)
    assert [heat(value) for value in (None, -0.5, 0, 0.2, 0.79, 1)] == [
        "heat-none", "heat-0", "heat-0", "heat-1", "heat-3", "heat-4",
    ]  # fmt: skip
