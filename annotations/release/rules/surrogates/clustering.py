"""Group mentions of one entity by rules, over all notes of a patient."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from operator import itemgetter
from typing import Final

from annotations.release.rules.redaction.policy import CODES, INSTITUTIONS, PEOPLE, TELEPHONES, IdentifierType
from annotations.release.rules.surrogates import people
from annotations.release.rules.surrogates.folding import folded
from annotations.release.rules.surrogates.gazetteers import kept, known_language, names_of
from annotations.release.rules.surrogates.identifiers import national
from annotations.release.rules.surrogates.pipeline import SHARED, Cluster, IndexedEntity, MentionInNote, Surrogate
from annotations.release.rules.surrogates.templates import acronym_of, distinctive

NUMBERS: Final = CODES | TELEPHONES | {IdentifierType.BIOMETRIC, IdentifierType.ZIP, IdentifierType.IP}
_place: Final = itemgetter(0, 1, 2)  # the note, start and end of a mention
_NAMED: Final = PEOPLE | INSTITUTIONS
_NOT_WORD: Final = re.compile(r"[\W_]+")
_CAPTIONS: Final = kept("caption")
_CAPTION_OR_DIGIT: Final = re.compile(r"[^\W\d_]+(?:\.[^\W\d_]+)*|\d")
_ZIP_PLUS_4: Final = re.compile(r"(\d{5})[-\s]?\d{4}")
_NEAR: Final = 120  # code points between the fields "Nombre" and "Apellidos"


_NamedMention = tuple[MentionInNote, people.NamedPerson]
"""A mention of a person, and the name in it."""


class _Group:
    """Mentions of one person so far."""

    def __init__(self, named: Sequence[_NamedMention]) -> None:
        mention, self.person = named[0]
        self.kind = mention.kind
        self.mentions: list[MentionInNote] = []
        self.add(named)

    def add(self, named: Iterable[_NamedMention]) -> None:
        for mention, name in named:
            self.mentions.append(mention)
            self.person = people.fullest([self.person, name])
            if mention.kind == IdentifierType.STAFF:
                self.kind = IdentifierType.STAFF


def read(mention: MentionInNote, language: str) -> people.NamedPerson:
    """The name in a mention of a person, with what the text before it says of it: a field's name, or a title."""
    return _read(mention.text, mention.before, language)


@lru_cache(maxsize=1 << 12)
def _read(text: str, before: str, language: str) -> people.NamedPerson:
    title = people.title_before(before)
    name = people.read_person(text, language, people.field_of(before), title is not None)
    if title and not name.gender:
        return people.NamedPerson(name.parts, name.given, name.family, title)
    return name


def readings(mentions: Iterable[MentionInNote], language: str) -> list[people.NamedPerson]:
    """The name in each mention; a word that stands alone is the same part of a name in all of them.

    It is a given name if it is one in a full name, else a surname if it is one anywhere, as "Mr Robert" says.
    """
    mentions = list(mentions)
    together = written_together(frozenset(mention.text for mention in mentions), language)
    names = [read(mention._replace(text=together.get(mention.text, mention.text)), language) for mention in mentions]
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


@lru_cache(maxsize=1 << 10)
def written_together(texts: frozenset[str], language: str) -> Mapping[str, str]:
    """For each name that another one repeats with other blanks, as "Petr ie" does "Petrie", the one to read instead.

    That is the one with the most listed words, and of those the one with the fewest words.
    """
    lists = names_of(known_language(language))
    alike: dict[str, list[str]] = defaultdict(list)
    for text in sorted(texts):
        alike[folded(text).replace(" ", "")].append(text)

    def listed_and_short(text: str) -> tuple[int, int]:
        words = folded(text).split()
        return sum(word in lists.given or word in lists.surnames for word in words), -len(words)

    out: dict[str, str] = {}
    for group in alike.values():
        best = max(group, key=listed_and_short)
        out |= {text: best for text in group if len(folded(text).split()) != len(folded(best).split())}
    return out


def clusters_of(mentions: Sequence[MentionInNote], language: str) -> list[Cluster]:
    """Group the mentions of one patient's notes by entity, in the order of the first mentions.

    People are grouped by normalized names, other kinds by equal folded text. A surname alone joins a person of the
    patient's notes whose name has it, if there is one such person; of several, the one mentioned last before it. Titles
    and given names must agree in gender. Full names that differ in a given name or a surname are different people, so
    that relatives with one surname stay apart.
    """
    persons = sorted((m for m in mentions if m.kind in PEOPLE), key=_place)
    clusters = [
        Cluster(group.kind, language, tuple(sorted(group.mentions, key=_place))) for group in _people(persons, language)
    ]
    clusters += _institutions([one for one in mentions if one.kind in INSTITUTIONS], language)
    equal: dict[tuple[IdentifierType, str], list[MentionInNote]] = defaultdict(list)
    for mention in mentions:
        if mention.kind not in _NAMED:
            equal[mention.kind, _keys(mention.kind, mention.text, language)[-1]].append(mention)
    clusters += [Cluster(kind, language, tuple(sorted(group, key=_place))) for (kind, _), group in equal.items()]
    return sorted(clusters, key=lambda cluster: _place(cluster.mentions[0]))


@lru_cache(maxsize=1 << 14)
def without_caption(text: str) -> str:
    """A number without the words before it that say what it is: "MRN 4471203" and "MRN4471203" are "4471203"."""
    start = 0
    for word, following in pairwise(_CAPTION_OR_DIGIT.finditer(text)):
        if word[0].isdigit() or folded(word[0]).replace(" ", "") not in _CAPTIONS:
            break
        start = following.start()
    return text[start:] if any(letter.isdigit() for letter in text[start:]) else text


@lru_cache(maxsize=1 << 14)
def equality_key(kind: IdentifierType, text: str) -> str:
    """What equal mentions of a kind share: letters and digits of a number, the address of an e-mail, folded words.

    A ZIP code is equal to one with four further digits, a telephone number to the same with the code of its country.
    """
    if kind in NUMBERS:
        text = without_caption(text)
        if kind == IdentifierType.ZIP and (found := _ZIP_PLUS_4.fullmatch(text.strip())):
            return found[1]
        if kind in TELEPHONES and (number := national(text)):
            return number
        return _NOT_WORD.sub("", text).casefold() or text
    if kind in (IdentifierType.EMAIL, IdentifierType.URL, IdentifierType.USERNAME):
        return "".join(text.split()).casefold()
    return folded(text) or text


def _people(mentions: Sequence[MentionInNote], language: str) -> list[_Group]:
    groups: list[_Group] = []
    named = list(zip(mentions, readings(mentions, language), strict=True))
    paired: set[int] = set()
    for at, (one, other) in enumerate(pairwise(mentions)):  # "Nombre: Ana. Apellidos: Ruiz Gil."
        near = one.note == other.note and other.start - one.end <= _NEAR and one.kind == other.kind
        free = near and at not in paired
        if free and {people.field_of(each.before) for each in (one, other)} == {people.GIVEN, people.FAMILY}:
            _join(groups, named[at : at + 2])
            paired |= {at, at + 1}
    rest = [each for at, each in enumerate(named) if at not in paired]
    whole = [each for each in rest if _is_full(each[1])]
    for each in sorted(whole, key=lambda each: -len(each[1].given) - len(each[1].family)):
        _join(groups, [each])
    for mention, name in rest:
        if not _is_full(name):
            _join_part(groups, mention, name)
    return groups


def _is_full(name: people.NamedPerson) -> bool:
    return any(len(word) > 1 for word in name.given) and any(len(word) > 1 for word in name.family)


def _join(groups: list[_Group], named: Sequence[_NamedMention]) -> None:
    """Join a full name to the one group with a compatible name, or start a group."""
    new = _Group(named)
    own = (new.person.given, new.person.family)
    fitting = [group for group in groups if same_person(group.person, new.person)]
    fitting = [group for group in fitting if (group.person.given, group.person.family) == own] or fitting
    if len(fitting) == 1:
        fitting[0].add(named)
    else:
        groups.append(new)


def _join_part(groups: list[_Group], mention: MentionInNote, name: people.NamedPerson) -> None:
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
        fitting[0].add([(mention, name)])
    else:
        groups.append(_Group([(mention, name)]))


def same_person(one: people.NamedPerson, other: people.NamedPerson) -> bool:
    """Whether two names may be one person's: they share a word or initial, and nothing in them differs."""
    if one.gender and other.gender and one.gender != other.gender:
        return False
    shared = False
    for ours, theirs in ((one.given, other.given), (one.family, other.family)):
        shorter, longer = sorted((ours, theirs), key=len)
        if shorter:
            if not people.initials_match(shorter, longer):
                return False
            shared = True
    return shared


def _institutions(mentions: Iterable[MentionInNote], language: str) -> list[Cluster]:
    """Hospitals and organizations: equal but for words of their type, or an acronym of the full name."""
    groups: dict[tuple[IdentifierType, str], list[MentionInNote]] = {}
    acronyms: list[MentionInNote] = []
    for mention in mentions:
        word = mention.text.replace(".", "")
        if word.isupper() and word.isalpha() and 2 <= len(word) <= 8:
            acronyms.append(mention)
        else:
            own = distinctive(mention.text, mention.kind, language) or folded(mention.text) or mention.text
            groups.setdefault((mention.kind, own), []).append(mention)
    short: dict[str, tuple[IdentifierType, str]] = {}
    for key, group in groups.items():
        for text in {mention.text for mention in group}:
            short.setdefault(acronym_of(text), key)
    for mention in acronyms:
        word = mention.text.replace(".", "").upper()
        groups.setdefault(short.get(word, (mention.kind, word)), []).append(mention)
    return [Cluster(kind, language, tuple(sorted(group, key=_place))) for (kind, _), group in groups.items()]


# Which entity of the project's index a cluster is, by rules.


_HIDDEN: Final = frozenset({"gender", "area"})


def person_of(cluster: Cluster) -> people.NamedPerson:
    """The full name of a cluster of people."""
    return people.fullest(readings(cluster.mentions, cluster.language))


def identities(cluster: Cluster) -> list[str]:
    """Folded keys by which the index finds an entity, the most specific first; equal entities share at least one.

    People: the full name and the surnames ("adam wilson", "wilson"), or the given names if there is nothing else.
    """
    if cluster.kind in PEOPLE:
        person = person_of(cluster)
        family, given = " ".join(person.family), " ".join(person.given)
        keys = [f"{given} {family}".strip(), family or given]
        if person.given and person.family:
            keys.insert(1, f"{person.given[0]} {person.family[0]}")
        return list(dict.fromkeys(key for key in keys if key))
    return identities_of_forms(cluster.kind, cluster.forms, cluster.language)


def surrogate_key(surrogate: Surrogate) -> str:
    """The folded surrogate: no two entities of a project may share it. People are compared by their full names."""
    if "value" in surrogate.parts:
        return equality_key(surrogate.kind, surrogate.parts["value"])
    names = sorted((name for name in surrogate.parts if name not in _HIDDEN), key=lambda name: (name[0] != "g", name))
    return folded(" ".join(surrogate.parts[name] for name in names))  # given names before surnames


def same_entity(cluster: Cluster, found: Sequence[IndexedEntity]) -> IndexedEntity | None:
    """The first entity of the index that the cluster is, by its names; None if there is none.

    `found` must be of the patient, or of kinds in SHARED. A full name is the same person in the whole project. A
    surname, a given name or initials alone are the same person only in one patient's notes, and only if gender and
    given names agree. Other kinds must have an equal folded form.
    """
    if cluster.kind in PEOPLE:
        person = person_of(cluster)
        return next((one for one in found if one.kind in PEOPLE and _fits(person, cluster, one)), None)
    own = set(identities(cluster))
    same = (one for one in found if one.kind == cluster.kind)
    return next((one for one in same if own & set(identities_of_forms(one.kind, one.forms, cluster.language))), None)


def identities_of_forms(kind: IdentifierType, forms: Sequence[str], language: str) -> list[str]:
    """The folded keys of an entity's forms (not of people)."""
    return list(dict.fromkeys(key for form in forms for key in _keys(kind, form, language)))


def _keys(kind: IdentifierType, text: str, language: str) -> list[str]:
    """The keys of a text that names no person, the least specific last: an institution or a street without its type."""
    keys = [equality_key(kind, text)]
    if kind in INSTITUTIONS or kind == IdentifierType.STREET:
        keys.append(distinctive(text, kind, language))
    return [key for key in keys if key]


def _fits(person: people.NamedPerson, cluster: Cluster, entity: IndexedEntity) -> bool:
    names = readings(cluster.mentions, cluster.language)  # a form's fields count
    here = {mention.text: name for mention, name in zip(cluster.mentions, names, strict=True)}
    theirs = people.fullest(here.get(form) or people.read_person(form, cluster.language) for form in entity.forms)
    gender = entity.surrogate.parts.get("gender", "")
    if person.gender and gender and gender != person.gender:
        return False
    if not same_person(person, theirs):
        return False
    whole = bool(person.given and person.family and theirs.given and theirs.family)
    if whole and len(person.given[0]) > 1 and len(theirs.given[0]) > 1:
        return True
    return cluster.kind == entity.kind and (entity.own or entity.kind not in SHARED)
