"""Times and shares have one format: on pages, in scripts and in Python texts."""

import ast
import json
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from django.template import Context, Template
from django.utils import timezone

from annotations.core.templatetags.coefficients import percent
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


# ── The source: no other format of times ─────────────────────────────────────────────────────────────────────────────

IN_TEMPLATES = re.compile(r"\|\s*(?:date|time)\b|\{%\s*now\b")
IN_SCRIPTS = re.compile(r"new Date\(|toLocale(?:Date|Time)|DateTimeFormat(?!\(\)\.resolvedOptions)|(?:date|time)Style")
IN_PYTHON = re.compile(r"strftime|dateformat|\b(?:date|time)_format\b")
SCRIPT, MODULE = Path("static/js/core/moments.js"), Path("annotations/core/templatetags/moments.py")


def sources(*patterns: str) -> Iterator[tuple[Path, str]]:
    for pattern in patterns:
        for path in sorted(ROOT.glob(pattern)):
            if "migrations" not in path.parts and "vendor" not in path.parts:
                yield path.relative_to(ROOT), path.read_text()


def test_only_one_place_formats_times():
    found = [
        str(path) for path, text in sources("templates/**/*.html", "templates/**/*.txt") if IN_TEMPLATES.search(text)
    ]
    found += [str(path) for path, text in sources("static/js/**/*.js") if IN_SCRIPTS.search(text) and path != SCRIPT]
    trees = ("annotations/**/*.py", "models_runtime/**/*.py")
    found += [str(path) for path, text in sources(*trees) if IN_PYTHON.search(text) and path != MODULE]
    assert found == []
    assert IN_SCRIPTS.search((ROOT / SCRIPT).read_text()) and IN_PYTHON.search((ROOT / MODULE).read_text())
    assert IN_TEMPLATES.search('{{ at|date:"j M Y" }}') and not IN_TEMPLATES.search("{{ at|timeuntil }}")


# ── The source: no space before a percent sign ───────────────────────────────────────────────────────────────────────

SPACE = "(?:[ \u00a0\u2009\u202f]|&nbsp;|&thinsp;|&#160;|\\\\u00a0|\\\\xa0|\\\\u202f)"
# In a template, “ %}” ends a tag.
MARKUP = re.compile(SPACE + r"%(?!\})")
# Elsewhere “% ” may be the operator for the rest of a division; after a placeholder or before punctuation it is not.
CODE = re.compile(rf"""(?:[}}"'`]|\)s){SPACE}%(?!\()|\d{SPACE}%(?=["'`).,;:!?])""")
# In a string, a letter or “(” after the sign begins a conversion, as in “ %s” and “ %(name)s”.
STRING = re.compile(SPACE + r"%%?(?![%(#*+.<>{}\w-])")


def strings(text: str) -> str:
    """All strings of a Python module, one a line, with the fixed parts of f-strings."""
    constants = (node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant))
    return "\n".join(one for one in constants if isinstance(one, str))


@pytest.mark.parametrize(
    ("pattern", "text", "spaced"),
    [
        (MARKUP, '{% translate "95 % interval" %}', True),
        (MARKUP, "{{ share }} %)", True),
        (MARKUP, "{{ share }}&nbsp;%", True),
        (MARKUP, "{% if a %}{{ share }}%{% endif %}", False),
        (CODE, "`${share} %`", True),
        (CODE, "share + ' %'", True),
        (CODE, 'gettext("confidence %(percent)s %")', True),
        (CODE, '"at 90 %, or more"', True),
        (CODE, "at = (at + 1) % all.length; list[at % 2]", False),
        (CODE, 'gettext("%(run)s (%(percent)s)"), "%(a)s %(b)s"', False),
        (STRING, strings('f"{share:.0f} %"'), True),
        (STRING, strings('"%(low)d to %(high)d %%" % {}'), True),
        (STRING, strings('"the 95 % interval"'), True),
        (STRING, strings('"%s %s" % (a, b); "%(a)s %(b)d %%s %-5d" % c; a % b'), False),
        (STRING, strings('"100%"; "%d%%" % share; f"{x % 2} {y:%H}"'), False),
    ],
)
def test_the_patterns_for_percent_signs(pattern, text, spaced):
    assert bool(pattern.search(text)) == spaced


def test_no_space_before_a_percent_sign():
    documents = ("*.md", "docs/**/*.md")
    found = [str(path) for path, text in sources("templates/**/*.html", *documents) if MARKUP.search(text)]
    found += [str(path) for path, text in sources("static/js/**/*.js") if CODE.search(text)]
    trees = ("annotations/**/*.py", "models_runtime/**/*.py", "deidreview/**/*.py")
    # Only few modules need parsing: those in which such a text occurs at all.
    suspects = ((path, text) for path, text in sources(*trees) if STRING.search(text))
    found += [str(path) for path, text in suspects if STRING.search(strings(text))]
    assert found == []
