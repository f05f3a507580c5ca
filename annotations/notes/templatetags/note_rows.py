"""Table rows of the list of notes."""

from collections.abc import Iterable

from django import template
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotations.core.access import Access, Can
from annotations.core.templatetags.nav import icon
from annotations.core.templatetags.rows import EMPTY, NOTHING, cell, fill
from annotations.notes.selectors.notes import NoteRow

register = template.Library()


@register.simple_tag
def note_rows(rows: Iterable[NoteRow], url: str, access: Access, query: str = "") -> SafeString:
    """Table rows of the list of notes at `url`. `query` is appended to the links of the notes."""
    line = _BlindLine(url, opens=access.can(Can.ANNOTATE)) if access.blind else _FullLine(url, query)
    return SafeString("\n".join(fill("<tr>{}</tr>", line.cells(row)) for row in rows))


class _Line:
    """Cells for everyone. Texts are translated once for all rows."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.language, self.length = _("Language"), _("Characters")
        self.flagged = _("flagged")

    def cells(self, row: NoteRow) -> SafeString:
        return fill(
            '<th scope="row">{}{}</th>{}{}{}',
            self.links(row),
            self.flag(row),
            cell(self.language, row.language, "aside"),
            cell(self.length, f"{row.length:,}", "num aside"),
            self.states(row),
        )

    def flag(self, row: NoteRow) -> SafeString:
        """Mark of a flagged note, with the reason."""
        if not row.flag:
            return EMPTY
        tag = ' <span class="tag warn flag">{} {}</span> <span class="small mute flag-why">{}</span>'
        return fill(tag, icon("flag"), self.flagged, row.flag)

    def links(self, row: NoteRow) -> SafeString:
        raise NotImplementedError

    def states(self, row: NoteRow) -> SafeString:
        raise NotImplementedError


class _BlindLine(_Line):
    """Cells for annotators: their own state, nothing about others. `opens`: they may open the notes now."""

    def __init__(self, url: str, *, opens: bool) -> None:
        super().__init__(url)
        self.opens = opens
        self.state, self.outcome = _("State"), _("outcome")
        self.tags = {
            "done": fill('<span class="tag ok">{}</span>', _("done")),
            "begun": fill('<span class="tag accent">{}</span>', _("started")),
            "open": fill('<span class="tag">{}</span>', _("to do")),
        }

    def links(self, row: NoteRow) -> SafeString:
        if not self.opens:
            return fill("{}", row.name)
        return fill('<a href="{}{}/annotate/">{}</a>', self.url, str(row.pk), row.name)

    def states(self, row: NoteRow) -> SafeString:
        state = self.tags.get(row.own, NOTHING)
        if row.outcome and row.own == "done" and self.opens:
            link = '{} <a class="small" href="{}{}/outcome/">{}<span class="sr-only"> {}</span></a>'
            state = fill(link, state, self.url, str(row.pk), self.outcome, row.name)
        return cell(self.state, state)


class _FullLine(_Line):
    """Cells for members who may see all notes: who annotated the note, and whether it has gold."""

    def __init__(self, url: str, query: str) -> None:
        super().__init__(url)
        self.query = query
        self.submitted, self.drafts, self.open, self.gold = _("Submitted"), _("Drafts"), _("To do"), _("Gold")
        self.tag = fill('<span class="tag ok">{}</span>', _("gold"))
        self.in_review = fill('<span class="tag">{}</span>', _("in review"))
        self.own = {"done": _("your annotations"), "begun": _("annotate"), "open": _("annotate")}

    def links(self, row: NoteRow) -> SafeString:
        link = fill('<a href="{}{}/{}">{}</a>', self.url, str(row.pk), self.query, row.name)
        if not row.own:
            return link
        return fill(
            '{} <a class="small" href="{}{}/annotate/">{}<span class="sr-only"> {}</span></a>',
            link,
            self.url,
            str(row.pk),
            self.own.get(row.own, ""),
            row.name,
        )

    def states(self, row: NoteRow) -> SafeString:
        return fill(
            "{}{}{}{}",
            cell(self.submitted, row.submitted),
            cell(self.drafts, row.drafts),
            cell(self.open, f"{row.open:,}" if row.open else "", "num"),
            cell(self.gold, self.tag if row.gold else self.in_review if row.in_review else ""),
        )
