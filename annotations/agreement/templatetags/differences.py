"""A disagreement as a table: the tokens of its sentence, and below them a row of BIO tags for each annotator."""

from collections.abc import Sequence

from django import template
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotations.agreement.rules.disagreement import DisagreementKind
from annotations.agreement.selectors.disagreements import DisagreementView, Sentence
from annotations.core.templatetags.rows import EMPTY, NOTHING, fill
from annotations.models import Label
from annotations.text.bio import OUTSIDE

register = template.Library()

HERE = SafeString(' class="here"')
# The name of each kind, the same as a word, and what it means.
KINDS = {
    DisagreementKind.MISSED: (_("Missed"), _("missed"), _("One annotator marked a span where another marked nothing.")),
    DisagreementKind.BOUNDARY: (_("Different bounds"), _("different bounds"), _("The same label on different bounds.")),
    DisagreementKind.LABEL: (
        _("Different label"), _("different label"), _("The same bounds with a different label."),
    ),
    DisagreementKind.BOTH: (
        _("Different bounds and label"), _("different bounds and label"), _("Both the bounds and the label differ."),
    ),
    DisagreementKind.ATTRIBUTES: (
        _("Different attributes"), _("different attributes"),
        _("The same spans with different attributes. The agreement figures don’t count attributes."),
    ),
}  # fmt: skip


@register.filter
def kind_word(kind: str) -> str:
    """Name a type of disagreement, as its tag on the page does."""
    return str(KINDS[DisagreementKind(kind)][1])


@register.simple_tag
def hues_of(project_id: int) -> dict[str, int]:
    """The hue of each label of a project, by code."""
    labels = Label.objects.filter(label_set__project_id=project_id)
    return dict(labels.values_list("code", "category__hue"))


@register.simple_tag
def bio_table(shown: DisagreementView, hues: dict[str, int]) -> SafeString:
    """The table; the tokens of the location itself are marked in their cells and column headings."""
    sentence = shown.sentence
    inside = range(sentence.rows.first, sentence.rows.past)
    head = "".join(
        fill('<th scope="col"{}><bdi>{}</bdi></th>', HERE if index in inside else EMPTY, token)
        for index, token in enumerate(sentence.tokens)
    )
    body = "".join(
        fill('<tr><th scope="row">{}</th>{}</tr>', name, _cells(tags, inside, hues))
        for name, tags in sentence.tags.items()
    )
    return fill(
        '<thead><tr><th scope="col"><span class="sr-only">{}</span></th>{}</tr></thead><tbody>{}</tbody>',
        gettext("Annotator"),
        SafeString(head),
        SafeString(body),
    )


def _cells(tags: Sequence[str], inside: range, hues: dict[str, int]) -> SafeString:
    cells = []
    for index, tag in enumerate(tags):
        here = "here" if index in inside else ""
        if tag == OUTSIDE:
            cells.append(fill('<td class="o {}">O</td>', here))
        else:
            hue = str(hues.get(tag[2:], 0))
            cells.append(fill('<td class="tagged {} hue-{} {}">{}</td>', tag[0].lower(), hue, here, tag))
    return SafeString("".join(cells))


@register.simple_tag
def labels_of_each(shown: DisagreementView, hues: dict[str, int]) -> SafeString:
    """The labels that each annotator gave at the location, in one line."""
    rows = []
    for name, spans in shown.spans.items():
        marked = [
            fill('<span class="tagged hue-{}">{}</span>', str(hues.get(one.label, 0)), one.label) for one in spans
        ]
        rows.append(fill("<span>{} {}</span>", name, SafeString(" ".join(marked)) if marked else NOTHING))
    return SafeString(" ".join(rows))


@register.simple_tag
def tokens_in_turn(sentence: Sentence) -> SafeString:
    """The text of a sentence, with every second token in another color, as in table 3.4 of Catelli 2021."""
    text, at, parts = sentence.note.text, sentence.rows.start, []
    for index, token in enumerate(sentence.rows.tokens):
        parts.append(fill("{}", text[at : token.start]))
        parts.append(fill('<span class="{}">{}</span>', "even" if index % 2 else "odd", text[token.start : token.end]))
        at = token.end
    return SafeString("".join(parts))


@register.simple_tag
def tags_of(sentence: Sentence, column: str, hues: dict[str, int]) -> SafeString:
    """The tags of one annotator, one for each token."""
    tags = sentence.tags.get(column)
    if tags is None:
        return fill('<span class="mute" title="{}">–</span>', gettext("No counted annotations of this note."))
    marked = (
        fill('<span class="o">{}</span>', tag)
        if tag == OUTSIDE
        else fill('<span class="tagged hue-{}">{}</span>', str(hues.get(tag[2:], 0)), tag)
        for tag in tags
    )
    return SafeString(" ".join(marked))
