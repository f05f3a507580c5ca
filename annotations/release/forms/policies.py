"""The editor of a policy: what a release does with each label."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from django import forms
from django.forms import BoundField
from django.http import Http404
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotations.core.forms import CheckField, LineField
from annotations.models import Label, Project, ReleasePolicy
from annotations.notes.selectors.in_context import LabelLook, label_looks
from annotations.release.rules.redaction.policy import SHIPPED, Action, IdentifierType, LabelRule, actions_for
from annotations.release.services.policies import missing_labels, policies_of, read_policy

NAME_LENGTH = 80
SLUG_LENGTH = 40


def policy_texts(policy: ReleasePolicy) -> tuple[str, str]:
    """Name and description of a policy. A shipped policy that nobody renamed has its name in the reader's language.

    Where the project has changed its actions, the shipped description would be wrong, so the text counts the changes.
    That of a copy names what it is a copy of.
    """
    shipped = SHIPPED.get(policy.slug)
    if shipped is None:
        basis = SHIPPED.get(policy.basis)
        return policy.name, _("Based on: %(name)s.") % {"name": _(basis.name)} if basis else ""
    name, text = _(shipped.name), _(shipped.description)
    changed = sum(rule["action"] != shipped.actions[IdentifierType(rule["kind"])] for rule in policy.rules.values())
    if changed:
        text = ngettext(
            "Changed in this project: %(n)d label has another action than in the shipped policy.",
            "Changed in this project: %(n)d labels have another action than in the shipped policy.",
            changed,
        ) % {"n": changed}
    return (name if policy.name == shipped.name else policy.name), text


@dataclass(frozen=True)
class OfferedPolicy:
    """A policy to choose. `value` names its version, so that a release uses the one that was shown.

    `missing` are the codes of the labels that it doesn't map.
    """

    row: ReleasePolicy
    value: str
    name: str
    text: str
    missing: list[str]

    @property
    def has_surrogates(self) -> bool:
        return any(rule["action"] == Action.SURROGATE for rule in self.row.rules.values())


def offered_policies(project: Project) -> list[OfferedPolicy]:
    """The policies of the project, with the labels that each doesn't map."""
    return [
        OfferedPolicy(row, f"{row.slug}:{row.version or 1}", *policy_texts(row), missing_labels(project, row.rules))
        for row in policies_of(project)
    ]


def offered_policy(project: Project, slug: str) -> OfferedPolicy:
    """The policy with this short name. Raises Http404."""
    for one in offered_policies(project):
        if one.row.slug == slug:
            return one
    raise Http404("This policy does not exist.")


@dataclass(frozen=True)
class RuleDifference:
    """A label whose rule changed, with both rules in words. An empty text: there was, or is, no rule."""

    look: LabelLook
    before: str
    after: str


@dataclass(frozen=True)
class Version:
    """A saved version of a policy, with its changes to the one before."""

    row: ReleasePolicy
    changes: list[RuleDifference]
    is_first: bool


def history_of(project: Project, slug: str) -> list[Version]:
    """The saved versions of a policy, newest first."""
    looks = label_looks(project)
    saved = ReleasePolicy.objects.filter(project=project, slug=slug).select_related("created_by")
    rows = list(saved.order_by("-version"))
    pairs = zip_longest(rows, rows[1:])
    return [Version(row, _changes(before, row, looks) if before else [], before is None) for row, before in pairs]


def _changes(before: ReleasePolicy, after: ReleasePolicy, looks: Mapping[str, LabelLook]) -> list[RuleDifference]:
    """The labels whose rules differ, in the project's order. Merged labels are left out: they follow another label."""
    old, new = read_policy(before.rules).rules, read_policy(after.rules).rules
    return [
        RuleDifference(look, _in_words(old.get(code)), _in_words(new.get(code)))
        for code, look in looks.items()
        if old.get(code) != new.get(code)
    ]


def _in_words(rule: LabelRule | None) -> str:
    if rule is None:
        return ""
    about = {"kind": _(rule.kind.words), "action": _(rule.action.words)}
    return (_("%(action)s, numbered (%(kind)s)") if rule.numbered else _("%(action)s (%(kind)s)")) % about


@dataclass(frozen=True)
class PolicyRow:
    """The fields of one label."""

    label: Label
    kind: BoundField
    action: BoundField
    numbered: BoundField

    @property
    def errors(self) -> list[str]:
        return [str(error) for field in (self.kind, self.action) for error in field.errors]


class PolicyForm(forms.Form):
    """Name, and for each label its kind of identifier, the action, and whether masks count the entities of a note."""

    name = LineField(label=gettext_lazy("Name"), max_length=NAME_LENGTH)

    new_name = LineField(label=gettext_lazy("Name of the new policy"), max_length=NAME_LENGTH, required=False)
    new_slug = forms.SlugField(
        label=gettext_lazy("Short name"),
        max_length=SLUG_LENGTH,
        required=False,
        help_text=gettext_lazy("For commands and addresses: a-z, 0-9, “_” and “-”."),
        error_messages={"invalid": gettext_lazy("A short name has only a-z, 0-9, “_” and “-”.")},
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(
        self, *args: Any, labels: Sequence[Label], rules: Mapping[str, LabelRule], name: str = "", **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._labels = labels
        self.initial.setdefault("name", name)
        kinds = [("", _("Choose an identifier type")), *((str(kind), _(kind.words)) for kind in IdentifierType)]
        actions = [("", _("Choose an action")), *((str(action), _(action.words)) for action in Action)]
        for label in labels:
            rule = rules.get(label.code)
            about = {"label": label.name}
            kind = forms.ChoiceField(label=_("Identifier type of %(label)s") % about, choices=kinds)
            action = forms.ChoiceField(label=_("Action for %(label)s") % about, choices=actions)
            self.fields |= {f"kind-{label.code}": kind, f"action-{label.code}": action}
            self.fields[f"numbered-{label.code}"] = CheckField(label=_("Number the entities of %(label)s") % about)
            if rule is not None:
                self.initial[f"kind-{label.code}"] = str(rule.kind)
                self.initial[f"action-{label.code}"] = str(rule.action)
                self.initial[f"numbered-{label.code}"] = rule.numbered

    def clean(self) -> dict[str, Any]:
        found = super().clean() or {}
        for label in self._labels:
            kind, action = found.get(f"kind-{label.code}"), found.get(f"action-{label.code}")
            if kind and action and action not in actions_for(IdentifierType(kind)):
                possible = ", ".join(f"“{_(one.words)}”" for one in actions_for(IdentifierType(kind)))
                reason = _("“%(action)s” is not possible for this identifier type. Choose one of: %(possible)s.")
                about = {"action": _(Action(action).words), "possible": possible}
                self.add_error(f"action-{label.code}", reason % about)
        return found

    def rows(self) -> Iterator[PolicyRow]:
        for label in self._labels:
            yield PolicyRow(
                label, self[f"kind-{label.code}"], self[f"action-{label.code}"], self[f"numbered-{label.code}"]
            )

    def rules(self) -> dict[str, LabelRule]:
        """The rules of a valid form."""
        data = self.cleaned_data
        return {
            label.code: LabelRule(
                IdentifierType(data[f"kind-{label.code}"]),
                action := Action(data[f"action-{label.code}"]),
                action == Action.MASK and data[f"numbered-{label.code}"],
            )
            for label in self._labels
        }

    def shown_rules(self) -> dict[str, LabelRule]:
        """The rules that the form shows now, without labels whose fields have no valid value."""
        found: dict[str, LabelRule] = {}
        for row in self.rows():
            try:
                action = Action(str(row.action.value() or ""))
                kind = IdentifierType(str(row.kind.value() or ""))
            except ValueError:
                continue
            found[row.label.code] = LabelRule(kind, action, action == Action.MASK and bool(row.numbered.value()))
        return found
