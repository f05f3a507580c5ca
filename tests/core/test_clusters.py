"""Clustered bars as SVG: every number is text, and names are escaped."""

import re

from annotations.core.templatetags.clusters import Cluster, clustered_bars


def test_each_cluster_has_a_bar_with_its_number_for_each_series():
    svg = clustered_bars([Cluster("CITY", [1200, 600]), Cluster("AGE", [0, 300])], ["Train", "Test"], "Spans")
    assert re.findall(r'<text class="plot-small"[^>]*>([\d,]+)</text>', svg) == ["1,200", "600", "0", "300"]
    bars = re.findall(r'<rect class="plot-series-(\d)" x="[\d.]+" y="[\d.]+" width="([\d.]+)" height="12"/>', svg)
    assert bars == [("0", "200.0"), ("1", "100.0"), ("0", "0.0"), ("1", "50.0")]
    assert "Train" in svg and 'aria-label="Spans"' in svg and 'role="img"' in svg


def test_one_series_needs_no_legend():
    assert "Train" not in clustered_bars([Cluster("CITY", [1])], [], "Spans")


def test_nothing_is_drawn_without_clusters():
    assert clustered_bars([], ["Train"], "Spans") == ""


def test_names_are_text_and_long_ones_are_cut():
    svg = clustered_bars([Cluster("<b>" + "x" * 40, [1])], [], "Spans")
    assert "<b>" not in svg and "…" in svg
