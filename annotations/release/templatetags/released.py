"""An original and its released text beside each other, as a table. This module escapes both texts.

A stretch and what replaced it are links to each other (#o3 and #n3), so that the pair can be followed without scripts;
`static/js/release/beside.js` highlights both at once.
"""

from collections.abc import Sequence
from typing import Any

from django import template
from django.template import Context
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotations.core.services import ServiceError
from annotations.core.templatetags.rows import EMPTY, fill
from annotations.models import Label
from annotations.notes.selectors.in_context import label_looks
from annotations.release.rules.audits.looks import at_least, at_most, whole
from annotations.release.rules.redaction.policy import Action
from annotations.release.selectors.findings import Bit, SideBySideLine, beside
from annotations.release.selectors.recordings import has_recordings
from annotations.release.services.previewing import MASKED, SURROGATES, VIEWS, viewed
from annotations.release.services.steps import bound_in_words
from annotations.text.spans import Span

register = template.Library()

register.filter("has_voice", has_recordings)

TABLE = (
    '<table class="beside"><caption class="sr-only">{}</caption><thead><tr>'
    '<th scope="col"><span class="sr-only">{}</span></th><th scope="col">{}</th><th scope="col">{}</th></tr></thead>'
    "<tbody>{}</tbody></table>"
)
LINE = (
    '<tr class="{}"><th scope="row" class="gutter">{}</th>'
    '<td class="beside-text is-original" dir="auto" data-label="{}">{}</td>'
    '<td class="beside-text is-released" dir="auto" data-label="{}">{}</td></tr>\n'
)
STRETCH = '<a class="span hue-{} underline-{} stretch is-{}{}" href="#{}{}" data-piece="{}"{}{}>{}</a>'
VIEWED = (
    '<div class="line" id="L{}"><span class="gutter" aria-hidden="true">{}</span>'
    '<div class="line-text" dir="auto">{}</div></div>\n'
)
FOUND = '<mark class="leak{}"{} title="{}">{}</mark>'


@register.simple_tag
def beside_table(rows: Sequence[SideBySideLine], language: str = "") -> SafeString:
    """Show rows of `selectors.beside.beside`. `language` is the note's, for screen readers and fonts."""
    names = (_("Original"), _("Released"))
    lines = SafeString("".join(_line(row, names) for row in rows))
    table = fill(TABLE, _("Original and released text, line by line"), _("Line"), *names, lines)
    return fill('<div class="beside-box"{}>{}</div>', fill(' lang="{}"', language) if language else EMPTY, table)


def _line(row: SideBySideLine, names: tuple[str, str]) -> SafeString:
    before = SafeString("".join(_bit(bit, "o", "n") for bit in row.before))
    after = SafeString("".join(_bit(bit, "n", "o") for bit in row.after))
    return fill(LINE, "is-same" if row.same else "is-changed", str(row.number), names[0], before, names[1], after)


def _bit(bit: Bit, here: str, there: str) -> SafeString:
    """`here` and `there` are the prefixes of the ids in this column and in the other one."""
    inside: SafeString | str = bit.text
    if bit.finding is not None:
        state = " is-decided" if bit.finding.decision else ""
        own = fill(' id="f{}"', str(bit.finding.pk)) if bit.finding.pk else EMPTY
        inside = fill(FOUND, state, own, _("Found by the leak gate"), bit.text)
    if bit.piece is None or bit.look is None or bit.action is None:
        return inside if isinstance(inside, SafeString) else fill("{}", inside)
    if not bit.text:
        inside = fill('<span class="sr-only">{}</span>', _("removed"))
    chip = _chip(bit, here)
    number = str(bit.piece)
    return fill(
        STRETCH, str(bit.look.hue), str(bit.look.underline), str(bit.action), "" if bit.last else " is-continued",
        there, number, number, fill(' id="{}{}"', here, number) if bit.last else EMPTY,
        fill(' data-label="{}"', chip) if chip and bit.last else EMPTY, inside,
    )  # fmt: skip


def _chip(bit: Bit, here: str) -> str:
    """The label beside the original; beside the released text what was done, unless the text says so itself."""
    if here == "o":
        return bit.look.name if bit.look else ""
    if bit.action in (Action.MASK, None):
        return ""
    return action_name(bit.action)


def asked_view(context: Context) -> str:
    """The view ?view= of the note's page; empty for the original text."""
    asked = context["request"].GET.get("view", "")
    return asked if asked in VIEWS and context.get("chosen") else ""


@register.simple_tag(takes_context=True)
def note_views(context: Context) -> list[tuple[str, str, str, bool]]:
    """The views of a note with a chosen annotation set: value, name, address, and whether it is shown."""
    if not context.get("chosen"):
        return []
    current, query = asked_view(context), context["request"].GET.copy()
    found = []
    for value, name in (("", _("Original")), (MASKED, _("Masked")), (SURROGATES, _("Surrogates"))):
        query.pop("view", None)
        if value:
            query["view"] = value
        # "?" alone would stay in the address.
        address = f"?{query.urlencode()}" if query else context["request"].path
        found.append((value, name, address, value == current))
    return found


@register.simple_tag(takes_context=True)
def note_view(context: Context) -> dict[str, Any] | None:
    """The note as ?view= asks: its `rows`, or the `error`, why it is not possible; None for the original text.

    Spans that the page hides have no effect.
    """
    view = asked_view(context)
    if not view:
        return None
    access, note = context["access"], context["note"]
    codes = dict(Label.objects.filter(label_set__project=access.project).values_list("pk", "code"))
    spans = [Span(one["start"], one["end"], codes[one["label"]]) for one in context["spans"]]
    note.project = access.project
    try:
        found = viewed(document=note, spans=spans, view=view)
    except ServiceError as error:
        return {"error": str(error)}
    return {"rows": beside(note.text, found.text, found.pieces, looks=label_looks(access.project))}


@register.simple_tag
def viewed_lines(rows: Sequence[SideBySideLine]) -> SafeString:
    """Show the released column of the rows as the lines of a note."""
    lines = [
        fill(VIEWED, str(row.number), str(row.number), SafeString("".join(map(_viewed, row.after)))) for row in rows
    ]
    return fill('<div class="lines">{}</div>', SafeString("".join(lines)))


def _viewed(bit: Bit) -> SafeString:
    if bit.piece is None or bit.look is None:
        return fill("{}", bit.text)
    name = bit.look.name
    return fill(
        '<span class="span hue-{} underline-{}" role="group" aria-label="{}" title="{}">{}</span>',
        str(bit.look.hue), str(bit.look.underline), name, name, bit.text,
    )  # fmt: skip


@register.filter
def action_name(action: Action | str) -> str:
    """What a release does with a stretch, in a word or two."""
    return _(Action(action).done)


# What an audit found, in words and percentages.


for _filter in (at_least, at_most, bound_in_words, whole):
    register.filter(_filter)
