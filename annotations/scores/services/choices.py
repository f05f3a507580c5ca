"""What a person or command chooses for a score: the similarity with tolerance, and labels for all-or-nothing recall."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from annotations.core.services import ServiceError
from annotations.scores.rules.scorer import THRESHOLD

LABEL, CATEGORY = "label", "category"
_SHARE = re.compile(r"(?a:0?\.\d{1,4}|0|1(\.0{1,4})?)")
# An error message repeats at most this much of a wrong value.
_SHOWN = 60


def threshold_of(word: str) -> float:
    """The similarity that `word` writes with at most four digits after the point; by default the published one.

    Raises ServiceError `threshold`.
    """
    if not word:
        return THRESHOLD
    if not _SHARE.fullmatch(word):
        message = _("The similarity “%(value)s” must be a number from 0 to 1, such as 0.6.")
        raise ServiceError(message % {"value": word[:_SHOWN]}, code="threshold")
    return float(word)


def chosen_types(values: Iterable[str], category_of: Mapping[str, str]) -> tuple[str, ...]:
    """The choices as `label:CODE` and `category:CODE`, sorted. `category_of` maps all labels to their categories.

    A code alone is a label or else a category. Raises ServiceError `types`, also for a code that is both, unless the
    category has only this label.
    """
    return tuple(sorted({_type(value, category_of) for value in values}))


def _type(value: str, category_of: Mapping[str, str]) -> str:
    kind, colon, code = value.rpartition(":")
    labels, categories = set(category_of), set(category_of.values())
    is_label = code in labels and (kind == LABEL or not colon)
    is_category = code in categories and (kind == CATEGORY or not colon)
    if is_label and is_category and [code] != _members(code, category_of):
        message = _("“%(code)s” is a label and a category. Write “label:%(code)s” or “category:%(code)s”.")
        raise ServiceError(message % {"code": code}, code="types")
    if is_label or is_category:
        return f"{LABEL if is_label else CATEGORY}:{code}"
    raise ServiceError(
        _("There is no label or category “%(value)s”. Categories: %(categories)s. Labels: %(labels)s.")
        % {
            "value": value[:_SHOWN],
            "categories": ", ".join(dict.fromkeys(category_of.values())),
            "labels": ", ".join(category_of),
        },
        code="types",
    )


def _members(category: str, category_of: Mapping[str, str]) -> list[str]:
    return [label for label, own in category_of.items() if own == category]


def labels_of(types: Sequence[str], category_of: Mapping[str, str]) -> list[str]:
    """The labels that the types of `chosen_types` stand for, in the order of `category_of`."""
    return [
        label
        for label, category in category_of.items()
        if f"{LABEL}:{label}" in types or f"{CATEGORY}:{category}" in types
    ]


@dataclass(frozen=True)
class Type:
    """A label or category that can be chosen; `value` is `label:CODE` or `category:CODE`."""

    value: str
    name: str
    chosen: bool

    @property
    def is_category(self) -> bool:
        return self.value.startswith(f"{CATEGORY}:")


def type_groups(
    category_of: Mapping[str, str], category_names: Mapping[str, str], label_names: Mapping[str, str],
    chosen: Sequence[str],
) -> list[list[Type]]:  # fmt: skip
    """Everything that can be chosen, in a list for each category: the category, and its labels.

    A category with one label is left out, because the label is the same choice, unless it was chosen. Names are given
    by code; a code without a name is shown itself.
    """

    def offered(kind: str, code: str, names: Mapping[str, str]) -> Type:
        value = f"{kind}:{code}"
        return Type(value, names.get(code, code), value in chosen)

    groups = []
    for category in dict.fromkeys(category_of.values()):
        whole = offered(CATEGORY, category, category_names)
        labels = [offered(LABEL, code, label_names) for code in _members(category, category_of)]
        groups.append([whole, *labels] if len(labels) > 1 or whole.chosen else labels)
    return groups
