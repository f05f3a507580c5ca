"""An original and its released text beside each other, as a table. This module escapes both texts.

A stretch and what replaced it are links to each other (#o3 and #n3), so that the pair can be followed without scripts;
`static/js/release/beside.js` highlights both at once.
"""

from collections.abc import Sequence

from django import template
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotations.core.templatetags.rows import EMPTY, fill
from annotations.domain.redaction.policy import Action
from annotations.release.selectors.beside import Bit, Row

register = template.Library()

TABLE = (
    '<table class="beside"><caption class="sr-only">{}</caption><thead><tr><th scope="col"><span class="sr-only">{}</span>'
    '</th><th scope="col">{}</th><th scope="col">{}</th></tr></thead><tbody>{}</tbody></table>'
)
LINE = (
    '<tr class="{}"><th scope="row" class="gutter">{}</th><td class="beside-text is-original" dir="auto" data-label="{}">'
    '{}</td><td class="beside-text is-released" dir="auto" data-label="{}">{}</td></tr>\n'
)
STRETCH = '<a class="span hue-{} underline-{} stretch is-{}{}" href="#{}{}" data-piece="{}"{}{}>{}</a>'
FOUND = '<mark class="leak{}"{} title="{}">{}</mark>'


@register.simple_tag
def beside_table(rows: Sequence[Row], language: str = "") -> SafeString:
    """Show rows of `selectors.beside.beside`. `language` is the note's, for screen readers and fonts."""
    names = (_("Original"), _("Released"))
    lines = SafeString("".join(_line(row, names) for row in rows))
    table = fill(TABLE, _("Original and released text, line by line"), _("Line"), *names, lines)
    return fill('<div class="beside-box"{}>{}</div>', fill(' lang="{}"', language) if language else EMPTY, table)


def _line(row: Row, names: tuple[str, str]) -> SafeString:
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


@register.filter
def action_name(action: Action | str) -> str:
    """What a release does with a stretch, in a word or two."""
    return {
        Action.KEEP: _("kept"),
        Action.MASK: _("masked"),
        Action.REMOVE: _("removed"),
        Action.HASH: _("hashed"),
        Action.GENERALIZE: _("generalized"),
        Action.SHIFT: _("shifted"),
        Action.SURROGATE: _("surrogate"),
    }[Action(action)]
