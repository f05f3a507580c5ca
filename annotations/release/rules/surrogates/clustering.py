"""Group mentions of one entity by rules, over all notes of a patient."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from operator import itemgetter
from typing import Final

from annotations.release.rules.redaction.kinds import IdentifierType
from annotations.release.rules.surrogates.folding import folded
from annotations.release.rules.surrogates.people import (
    FAMILY,
    GIVEN,
    NamedPerson,
    field_of,
    fullest,
    initials_match,
    read_person,
    title_before,
)
from annotations.release.rules.surrogates.pipeline import Cluster, Mentioned
from annotations.release.rules.surrogates.templates import acronym_of, distinctive

PEOPLE: Final = frozenset({IdentifierType.NAME, IdentifierType.STAFF})
INSTITUTIONS: Final = frozenset({IdentifierType.HOSPITAL, IdentifierType.ORGANIZATION})
NUMBERS: Final = frozenset(
    {
        IdentifierType.PHONE,
        IdentifierType.FAX,
        IdentifierType.NATIONAL_ID,
        IdentifierType.RECORD,
        IdentifierType.HEALTH_PLAN,
        IdentifierType.ACCOUNT,
        IdentifierType.LICENSE,
        IdentifierType.VEHICLE,
        IdentifierType.DEVICE,
        IdentifierType.BIOMETRIC,
        IdentifierType.ID,
        IdentifierType.ZIP,
        IdentifierType.IP,
    }
)
_place: Final = itemgetter(0, 1, 2)  # the note, start and end of a mention
_NOT_WORD: Final = re.compile(r"[\W_]+")
_NEAR: Final = 120  # code points between the fields "Nombre" and "Apellidos"


@dataclass(slots=True)
class _Group:
    """Mentions of one person so far."""

    kind: IdentifierType
    person: NamedPerson
    mentions: list[Mentioned] = field(default_factory=list)
    names: list[NamedPerson] = field(default_factory=list)

    def add(self, mention: Mentioned, name: NamedPerson) -> None:
        self.mentions.append(mention)
        self.names.append(name)
        self.person = fullest([self.person, name])
        if mention.kind == IdentifierType.STAFF:
            self.kind = IdentifierType.STAFF


def read(mention: Mentioned, language: str) -> NamedPerson:
    """The name in a mention of a person, with what the text before it says of it: a field's name, or a title."""
    return _read(mention.text, mention.before, language)


@lru_cache(maxsize=1 << 12)
def _read(text: str, before: str, language: str) -> NamedPerson:
    title = title_before(before)
    name = read_person(text, language, field_of(before), title is not None)
    if title and not name.gender:
        return NamedPerson(name.parts, name.given, name.family, title)
    return name


def readings(mentions: Iterable[Mentioned], language: str) -> list[NamedPerson]:
    """The name in each mention; a word that stands alone is the same part of a name in all of them.

    It is a given name if it is one in a full name, else a surname if it is one anywhere, as "Mr Robert" says.
    """
    names = [read(mention, language) for mention in mentions]
    if len(names) == 1:
        return names
    full = [name for name in names if _is_full(name)]
    given = {word for name in full for word in name.given} - {word for name in full for word in name.family}
    family = {name.family for name in names if not name.given and len(name.family) == 1}
    out = []
    for name in names:
        alone = name.given + name.family
        if len(alone) == 1 and alone[0] in given:
            name = replace(name, given=alone, family=())
        elif alone in family:
            name = replace(name, given=(), family=alone)
        out.append(name)
    return out


class RuleClusterer:
    """Groups mentions by normalized names, and other kinds by equal folded text.

    A surname alone joins a person of the patient's notes whose name has it, if there is one such person; of several,
    the one mentioned last before it. Titles and given names must agree in gender. Full names that differ in a given
    name or a surname are different people, so that relatives with one surname stay apart.
    """

    def cluster(self, mentions: Sequence[Mentioned], language: str) -> list[Cluster]:
        """Clusters in the order of their first mentions. Every mention is in exactly one."""
        people = sorted((m for m in mentions if m.kind in PEOPLE), key=_place)
        clusters = [
            Cluster(group.kind, language, tuple(sorted(group.mentions, key=_place)))
            for group in _people(people, language)
        ]
        equal: dict[tuple[IdentifierType, str], list[Mentioned]] = defaultdict(list)
        institutions: list[Mentioned] = []
        for mention in mentions:
            if mention.kind in PEOPLE:
                continue
            if mention.kind in INSTITUTIONS:
                institutions.append(mention)
            else:
                equal[mention.kind, equality_key(mention.kind, mention.text)].append(mention)
        clusters += [Cluster(kind, language, tuple(sorted(group, key=_place))) for (kind, _), group in equal.items()]
        clusters += _institutions(institutions, language)
        return sorted(clusters, key=lambda cluster: _place(cluster.mentions[0]))


@lru_cache(maxsize=1 << 14)
def equality_key(kind: IdentifierType, text: str) -> str:
    """What equal mentions of a kind share: letters and digits of a number, the address of an e-mail, folded words."""
    if kind in NUMBERS:
        return _NOT_WORD.sub("", text).casefold() or text
    if kind in (IdentifierType.EMAIL, IdentifierType.URL, IdentifierType.USERNAME):
        return "".join(text.split()).casefold()
    return folded(text) or text


def _people(mentions: Sequence[Mentioned], language: str) -> list[_Group]:
    groups: list[_Group] = []
    names = readings(mentions, language)
    paired: set[int] = set()
    for at in range(len(mentions) - 1):  # "Nombre: Ana. Apellidos: Ruiz Gil."
        one, other = mentions[at], mentions[at + 1]
        near = one.note == other.note and other.start - one.end <= _NEAR and one.kind == other.kind
        if near and at not in paired and {field_of(one.before), field_of(other.before)} == {GIVEN, FAMILY}:
            group = _Group(one.kind, names[at])
            group.add(one, names[at])
            group.add(other, names[at + 1])
            _join(groups, group)
            paired |= {at, at + 1}
    rest = [at for at in range(len(mentions)) if at not in paired]
    whole = [at for at in rest if _is_full(names[at])]
    for at in sorted(whole, key=lambda at: -len(names[at].given) - len(names[at].family)):
        group = _Group(mentions[at].kind, names[at])
        group.add(mentions[at], names[at])
        _join(groups, group)
    for at in (at for at in rest if not _is_full(names[at])):
        _join_part(groups, mentions[at], names[at])
    return groups


def _is_full(name: NamedPerson) -> bool:
    return any(len(word) > 1 for word in name.given) and any(len(word) > 1 for word in name.family)


def _join(groups: list[_Group], new: _Group) -> None:
    """Join a full name to the one group with a compatible name, or start a group."""
    fitting = [group for group in groups if same_person(group.person, new.person)]
    exact = [group for group in fitting if _same_words(group.person, new.person)]
    if len(exact or fitting) == 1:
        target = (exact or fitting)[0]
        for mention, name in zip(new.mentions, new.names, strict=True):
            target.add(mention, name)
    else:
        groups.append(new)


def _same_words(one: NamedPerson, other: NamedPerson) -> bool:
    return one.given == other.given and one.family == other.family


def _join_part(groups: list[_Group], mention: Mentioned, name: NamedPerson) -> None:
    """Join a surname, a given name or initials to a person, or start a group."""
    fitting = [group for group in groups if group.kind == mention.kind and same_person(group.person, name)]
    if len(fitting) > 1:
        before = [
            (_place(earlier), number)
            for number, group in enumerate(fitting)
            for earlier in group.mentions
            if _place(earlier) < _place(mention)
        ]
        fitting = [fitting[max(before)[1]]] if before else fitting[:1]
    if fitting:
        fitting[0].add(mention, name)
    else:
        group = _Group(mention.kind, name)
        group.add(mention, name)
        groups.append(group)


def same_person(one: NamedPerson, other: NamedPerson) -> bool:
    """Whether two names may be one person's: they share a word or initial, and nothing in them differs."""
    if one.gender and other.gender and one.gender != other.gender:
        return False
    shared = False
    for ours, theirs in ((one.given, other.given), (one.family, other.family)):
        shorter, longer = sorted((ours, theirs), key=len)
        if shorter:
            if not initials_match(shorter, longer):
                return False
            shared = True
    return shared


def _institutions(mentions: Iterable[Mentioned], language: str) -> list[Cluster]:
    """Hospitals and organizations: equal but for words of their type, or an acronym of the full name."""
    groups: dict[tuple[IdentifierType, str], list[Mentioned]] = {}
    acronyms: list[Mentioned] = []
    for mention in mentions:
        word = mention.text.replace(".", "")
        if word.isupper() and word.isalpha() and 2 <= len(word) <= 8:
            acronyms.append(mention)
        else:
            own = distinctive(mention.text, language) or folded(mention.text) or mention.text
            groups.setdefault((mention.kind, own), []).append(mention)
    short: dict[str, tuple[IdentifierType, str]] = {}
    for key, group in groups.items():
        for text in {mention.text for mention in group}:
            short.setdefault(acronym_of(text), key)
    for mention in acronyms:
        word = mention.text.replace(".", "").upper()
        groups.setdefault(short.get(word, (mention.kind, word)), []).append(mention)
    return [Cluster(kind, language, tuple(sorted(group, key=_place))) for (kind, _), group in groups.items()]
