"""What schemas call kinds and labels in a project, and whether identifiers of a record stand in fields that pass."""

from collections.abc import Iterable, Sequence
from typing import Final

from annotations.models import Label, Project, ReleasePolicy
from annotations.records.rules.masking import NamedKind
from annotations.records.rules.plans import FieldValue, ReadRecord
from annotations.records.rules.schemas import FieldRule
from annotations.release.rules.leaks.gate import Gate
from annotations.release.rules.leaks.needles import Needle
from annotations.release.rules.redaction.policy import SHIPPED, Action, IdentifierType, actions_for, kind_of
from annotations.release.selectors.known import Finder
from annotations.release.services import searching
from annotations.release.services.policies import read_policy

_KINDS: Final = {str(kind): kind for kind in IdentifierType}
_OF_RULES: Final = {
    FieldRule.HASH: str(IdentifierType.RECORD),
    FieldRule.SHIFT: str(IdentifierType.DATE),
    FieldRule.MASK: str(IdentifierType.ID),
}
"""The kind of a value whose rule names none."""


class NamedKinds:
    """The kinds that schemas name, in a project under a policy."""

    def __init__(self, project: Project, policy: ReleasePolicy) -> None:
        read = read_policy(policy.rules)
        self._rules = read.rules
        self._shipped = SHIPPED[policy.slug].actions if policy.slug in SHIPPED else {}
        labels = Label.objects.filter(label_set__project=project, merged_into__isnull=True)
        self._placeholders = dict(labels.values_list("code", "placeholder"))
        self._codes = {text.strip("[]<>«»"): code for code, text in self._placeholders.items()}
        kept_last = sorted(read.rules.items(), key=lambda pair: pair[1].action == Action.KEEP)
        own = {rule.kind: code for code, rule in reversed(kept_last) if code in self._placeholders}
        self._search = searching.SightingSearch(project, read, own)
        self._known: dict[str, NamedKind] = {}

    def __call__(self, name: str) -> NamedKind:
        """What a schema means by a name: a kind of identifier, a label of the project, or its placeholder."""
        if name not in self._known:
            self._known[name] = self._found(name)
        return self._known[name]

    def _found(self, name: str) -> NamedKind:
        code = name if name in self._placeholders else self._codes.get(name, "")
        if code in self._rules and name not in _KINDS:
            rule = self._rules[code]
            return NamedKind(rule.kind, code, self._placeholders[code], rule.action)
        kind = _KINDS.get(name) or kind_of(name) or IdentifierType.OTHER
        label = self._search.label_of(kind)
        action = self._rules[label].action if label else self._shipped.get(kind, Action.MASK)
        placeholder = self._placeholders[label] if label and name in _KINDS else f"[{name.upper().replace(' ', '_')}]"
        return NamedKind(kind, label, placeholder, action if action in actions_for(kind) else Action.MASK)

    def of_value(self, value: FieldValue) -> NamedKind:
        """The kind of a field's value."""
        rule = value.rule
        named = _OF_RULES.get(rule.rule, "") if rule.rule is FieldRule.HASH else rule.what
        return self(named or _OF_RULES.get(rule.rule, str(IdentifierType.OTHER)))

    def label_named(self, value: FieldValue) -> str:
        """The label of a field's value in the note; empty if nothing has a label for it."""
        return "" if value.rule.rule is FieldRule.REMOVE else self.of_value(value).label


class FieldGate:
    """Looks in the fields that pass for identifiers of the record, of its patient, and for denied terms.

    It is the gate of releases, with its named exceptions.
    """

    def __init__(self, project: Project, kinds: NamedKinds) -> None:
        self._kinds, self._finder = kinds, Finder(project)
        self._gate = Gate(self._finder.allowed, [project.language], searching.kept_words())

    def check(self, reads: Sequence[ReadRecord], more: Iterable[Needle] = ()) -> None:
        """Set `leak` of each record to the JSON pointer of the first field with a leak. `more`: further needles."""
        passing = [one for one in reads if one.done.passed]
        texts = ["\n".join(text for _pointer, text in one.done.passed) for one in passing]
        known = self._finder.find([(one.patient, text) for one, text in zip(passing, texts, strict=True)])
        for one, text, mentions in zip(passing, texts, known, strict=True):
            places = [mention.start for mention in mentions]
            needles = [*more, *(Needle(each.text, "", self._kinds.of_value(each).kind) for each in one.done.named)]
            needles = [needle for needle in needles if needle.text.strip()]
            places += [leak.start for leak in self._gate.find(text, needles)] if needles else []
            if places:
                one.leak = _pointer_at(one.done.passed, min(places))


def _pointer_at(passed: Sequence[tuple[str, str]], place: int) -> str:
    for pointer, text in passed:
        if place <= len(text):
            return pointer
        place -= len(text) + 1
    raise AssertionError("A leak lies in one of the texts.")
