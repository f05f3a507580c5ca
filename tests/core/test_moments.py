"""Times and shares have one format: on pages, in scripts and in Python texts."""

import json
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from django.template import Context, Template
from django.utils import timezone

from annotations.agreement.templatetags.coefficients import percent
from annotations.core.templatetags.moments import calendar_day, day, day_text, moment, moment_text

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
