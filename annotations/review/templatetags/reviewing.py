"""Template tags of the review pages: query strings that name runs, the list of notes, and rates with intervals."""

from collections.abc import Sequence
from urllib.parse import urlencode

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotations.agreement.templatetags.coefficients import percent
from annotations.core.templatetags.labels import DOT, HERE
from annotations.core.templatetags.nav import icon
from annotations.core.templatetags.rows import EMPTY, fill, middle
from annotations.models import Author
from annotations.review.rules.precision import FEW, Estimate, Rate
from annotations.review.selectors.precision import ExpectedPrecision
from annotations.review.selectors.reviewing import ReviewList, Stage

register = template.Library()


@register.simple_tag
def review_query(chosen: Sequence[Author], first: Author | None = None, **more: object) -> str:
    """The query string `?run=1&run=2`. `first` is left out, for a URL that already names this run in its path."""
    pairs: list[tuple[str, object]] = [("run", run.pk) for run in chosen if run != first]
    pairs += [(name, value) for name, value in more.items() if value]
    return f"?{urlencode(pairs)}" if pairs else ""


@register.simple_tag
def reviewed_items(notes: ReviewList, slug: str, run: int, kept: str) -> SafeString:
    """The notes as links to their review, each with its stage. `kept` is the query string added to each link."""
    marks = {
        Stage.OPEN: DOT,
        Stage.BEGUN: _mark(DOT, _("started:")),
        Stage.SECOND: _mark(DOT, _("waiting for your second review:")),
        Stage.WAITING: _mark(DOT, _("waiting for another reviewer:")),
        Stage.DONE: _mark(icon("check"), _("reviewed:")),
    }
    before, after = reverse("review", args=[slug, run, 0]).rsplit("/0/", 1)
    line = '<li><a href="{}/{}/{}{}" data-keeps{} class="is-{}">{}{}</a></li>'
    return SafeString(
        "\n".join(
            fill(
                line, before, str(note.pk), after, kept, HERE if note.pk == notes.current else EMPTY,
                str(note.stage), marks[note.stage], middle(note.name),
            )
            for note in notes.notes
        )
    )  # fmt: skip


def _mark(sign: SafeString, said: str) -> SafeString:
    return fill('{}<span class="sr-only">{}</span>', sign, said)


@register.simple_tag
def one_in(share: int) -> int:
    """The n in “1 in n” for a share in percent."""
    return round(100 / share)


def _with_interval(share: float, low: float, high: float, counted: str, few: str) -> SafeString:
    """A share with its 95% interval, the numbers behind it, and a tag if these are too few."""
    mark = format_html(' <span class="mute small">{}</span>', counted) if counted else ""
    tag = format_html(" <span class='tag'>{}</span>", few) if few else ""
    return format_html(
        '<span>{} <span class="interval"><span class="sr-only">{} </span>[{}, {}]</span>{}{}</span>',
        percent(share), _("95% interval"), percent(low), percent(high), mark, tag,
    )  # fmt: skip


def _nothing(why: str) -> SafeString:
    return format_html('<span class="mute">{}</span>', why)


@register.simple_tag
def rate(figure: Rate, decisions: bool = True) -> SafeString:
    """The rate of decisions. Without `decisions`, their number is shown as “of n”, for counts of other things."""
    if figure.interval is None or figure.share is None:
        return _nothing(_("no decisions yet"))
    counted = _("of %(n)d") % {"n": figure.decided}
    if decisions:
        counted = ngettext("%(n)d decision", "%(n)d decisions", figure.decided) % {"n": figure.decided}
    return _with_interval(figure.share, *figure.interval, counted, _("too few decisions") if figure.few else "")


@register.simple_tag
def estimate(figure: Estimate) -> SafeString:
    """A share estimated over whole notes."""
    if figure.share is None:
        return _nothing(_("no data"))
    return _with_interval(figure.share, figure.low, figure.high, "", _("too few notes") if figure.few else "")


@register.simple_tag
def observed(figure: Estimate, only_drawn: bool = False) -> SafeString:
    """A share of decisions with an interval over notes. `only_drawn`: there may be decisions that don't count."""
    if figure.share is None:
        return _nothing(_("none of the decisions count") if only_drawn else _("no decisions in finished reviews"))
    decisions = ngettext("%(n)d decision", "%(n)d decisions", figure.counted) % {"n": figure.counted}
    notes = ngettext("in %(n)d note", "in %(n)d notes", figure.notes) % {"n": figure.notes}
    few = _("too few decisions") if figure.counted < FEW else _("too few notes") if figure.few else ""
    return _with_interval(figure.share, figure.low, figure.high, f"{decisions} {notes}", few)


@register.simple_tag
def expected(figure: ExpectedPrecision) -> SafeString:
    """The expected precision of open suggestions, and of how many of them if some have no calibrated confidence."""
    if figure.expected is None:
        return _nothing(_("not calibrated"))
    of = ""
    if figure.partly:
        of = ngettext("of %(n)d calibrated suggestion", "of %(n)d calibrated suggestions", figure.calibrated)
        of = format_html(' <span class="mute small">{}</span>', of % {"n": figure.calibrated})
    return format_html("<span>{}{}</span>", percent(figure.expected), of)
