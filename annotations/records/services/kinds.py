"""What schemas call kinds and labels in a project, and whether identifiers of a record stand in fields that pass."""

from collections.abc import Iterable, Sequence
from typing import Final

from annotations.models import Label, Project, ReleasePolicy
from annotations.records.rules.masking import NamedKind
from annotations.records.rules.plans import FieldValue, ReadRecord
from annotations.records.rules.reader import kind_of_value, leak_in
from annotations.records.rules.schemas import FieldRule
from annotations.release.rules.leaks.gate import Gate
from annotations.release.rules.leaks.needles import Needle
from annotations.release.rules.redaction.policy import SHIPPED, Action, IdentifierType, actions_for, kind_of
from annotations.release.selectors.known import Finder
from annotations.release.services import searching
from annotations.release.services.policies import read_policy

_KINDS: Final = {str(kind): kind for kind in IdentifierType}


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

    def label_named(self, value: FieldValue) -> str:
        """The label of a field's value in the note; empty if nothing has a label for it."""
        return "" if value.rule.rule is FieldRule.REMOVE else kind_of_value(value, self).label


class FieldGate:
    """Looks in the fields that pass for identifiers of the record, of its patient, and for denied terms.

    It is the gate of releases, with its named exceptions.
    """

    def __init__(self, project: Project, kinds: NamedKinds) -> None:
        self._kinds, self._finder = kinds, Finder(project)
        self.allowed, self.words = self._finder.allowed, searching.kept_words()
        self.gate = Gate(self.allowed, [project.language], self.words)

    def check(self, reads: Sequence[ReadRecord], more: Iterable[Needle] = ()) -> None:
        """Set `leak` of each record to the JSON pointer of the first field with a leak. `more`: further needles."""
        passing = [one for one in reads if one.done.passed]
        texts = ["\n".join(text for _pointer, text in one.done.passed) for one in passing]
        known = self._finder.find([(one.patient, text) for one, text in zip(passing, texts, strict=True)])
        for one, mentions in zip(passing, known, strict=True):
            one.leak = leak_in(one, self.gate, self._kinds, more, [mention.start for mention in mentions])
