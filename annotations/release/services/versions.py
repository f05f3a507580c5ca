"""The versions of a policy, and what each changed."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _

from annotations.models import Label, Project, ReleasePolicy
from annotations.notes.selectors.in_context import LabelLook
from annotations.release.rules.redaction.kinds import IdentifierType
from annotations.release.rules.redaction.policy import Action, LabelRule
from annotations.release.services.policies import read_policy


@dataclass(frozen=True)
class RuleDifference:
    """A label whose rule changed, with both rules in words. An empty text: there was, or is, no rule."""

    look: LabelLook
    before: str
    after: str


def versions_of(project: Project, slug: str) -> list[ReleasePolicy]:
    """The saved versions of a policy, newest first."""
    rows = ReleasePolicy.objects.filter(project=project, slug=slug).select_related("created_by")
    return list(rows.order_by("-version"))


def with_merged(project: Project, rules: Mapping[str, LabelRule]) -> dict[str, LabelRule]:
    """The rules, and for each merged label the rule of the label that it is now. Frozen gold may use merged labels."""
    labels = {label.pk: label for label in Label.objects.filter(label_set__project=project)}
    found = dict(rules)
    for label in labels.values():
        target = label
        while target.merged_into_id is not None:
            target = labels[target.merged_into_id]
        if target.code in rules:
            found[label.code] = rules[target.code]
    return found


def changes_between(
    before: ReleasePolicy,
    after: ReleasePolicy,
    *,
    kinds: Mapping[IdentifierType, str],
    actions: Mapping[Action, str],
    looks: Mapping[str, LabelLook],
) -> list[RuleDifference]:
    """The labels whose rules differ, in the project's order. Merged labels are left out: they follow another label."""
    old, new = read_policy(before.rules).rules, read_policy(after.rules).rules

    def words(rule: LabelRule | None) -> str:
        if rule is None:
            return ""
        about = {"kind": kinds[rule.kind], "action": actions[rule.action]}
        if rule.numbered:
            return _("%(action)s, numbered (%(kind)s)") % about
        return _("%(action)s (%(kind)s)") % about

    codes = [code for code in looks if code in old or code in new]
    return [
        RuleDifference(looks[code], words(old.get(code)), words(new.get(code)))
        for code in codes
        if old.get(code) != new.get(code)
    ]
