"""Table rows of the list of notes."""

from collections.abc import Iterable

from django import template
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotations.core import addresses
from annotations.core.access import Access, Can
from annotations.core.templatetags.nav import icon
from annotations.core.templatetags.rows import EMPTY, NOTHING, cell, fill
from annotations.notes.selectors.notes import NoteRow

register = template.Library()


@register.simple_tag
def note_rows(rows: Iterable[NoteRow], url: str, access: Access, query: str = "") -> SafeString:
    """Table rows of the list of notes at `url`. `query` is appended to the links of the notes."""
    line = _BlindLine(url, access) if access.blind else _FullLine(url, access, query)
    if not access.can(Can.MANAGE):
        return SafeString("\n".join(fill("<tr>{}</tr>", line.cells(row)) for row in rows))
    tick = '<tr><td class="tick"><input type="checkbox" name="notes" value="{}" aria-label="{}"></td>{}</tr>'
    return SafeString("\n".join(fill(tick, str(row.pk), row.name, line.cells(row)) for row in rows))


class _Line:
    """Cells for everyone. Texts are translated once for all rows."""

    def __init__(self, url: str, access: Access) -> None:
        self.url = url
        self.annotate = addresses.around_note("note.annotate", access.project.slug)
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
    """Cells for annotators: their own state, nothing about others."""

    def __init__(self, url: str, access: Access) -> None:
        super().__init__(url, access)
        # In an archived project they may not open the notes.
        self.opens = access.can(Can.ANNOTATE)
        self.outcomes = addresses.around_note("note.outcome", access.project.slug)
        self.state, self.outcome = _("State"), _("outcome")
        self.tags = {
            "done": fill('<span class="tag ok">{}</span>', _("done")),
            "begun": fill('<span class="tag accent">{}</span>', _("started")),
            "open": fill('<span class="tag">{}</span>', _("to do")),
        }

    def links(self, row: NoteRow) -> SafeString:
        if not self.opens or self.annotate is None:
            return fill("{}", row.name)
        before, after = self.annotate
        return fill('<a href="{}{}{}">{}</a>', before, str(row.pk), after, row.name)

    def states(self, row: NoteRow) -> SafeString:
        state = self.tags.get(row.own, NOTHING)
        if row.outcome and row.own == "done" and self.opens and self.outcomes is not None:
            link = '{} <a class="small" href="{}{}{}">{}<span class="sr-only"> {}</span></a>'
            before, after = self.outcomes
            state = fill(link, state, before, str(row.pk), after, self.outcome, row.name)
        return cell(self.state, state)


class _FullLine(_Line):
    """Cells for members who may see all notes: who annotated the note, and whether it has gold."""

    def __init__(self, url: str, access: Access, query: str) -> None:
        super().__init__(url, access)
        self.query = query
        self.submitted, self.drafts, self.open, self.gold = _("Submitted"), _("Drafts"), _("To do"), _("Gold")
        self.tag = fill('<span class="tag ok">{}</span>', _("gold"))
        self.in_review = fill('<span class="tag">{}</span>', _("in review"))
        self.own = {"done": _("your annotations"), "begun": _("annotate"), "open": _("annotate")}

    def links(self, row: NoteRow) -> SafeString:
        link = fill('<a href="{}{}/{}">{}</a>', self.url, str(row.pk), self.query, row.name)
        if not row.own or self.annotate is None:
            return link
        before, after = self.annotate
        own = '{} <a class="small" href="{}{}{}">{}<span class="sr-only"> {}</span></a>'
        return fill(own, link, before, str(row.pk), after, self.own.get(row.own, ""), row.name)

    def states(self, row: NoteRow) -> SafeString:
        return fill(
            "{}{}{}{}",
            cell(self.submitted, row.submitted),
            cell(self.drafts, row.drafts),
            cell(self.open, f"{row.open:,}" if row.open else "", "num"),
            cell(self.gold, self.tag if row.gold else self.in_review if row.in_review else ""),
        )
