"""Write a surrogate in the form of a mention: its case, titles, initials, order, accents and separators."""

import random
import re
from typing import Final

from annotations.release.rules.redaction.policy import DESCRIPTIONS, INSTITUTIONS, PEOPLE, PLACES, TELEPHONES
from annotations.release.rules.surrogates import people
from annotations.release.rules.surrogates.clustering import NUMBERS, person_of, read, without_caption, written_together
from annotations.release.rules.surrogates.folding import accented, cased, compact, folded, plain, pour
from annotations.release.rules.surrogates.gazetteers import NamePool, kept, known_language, names_of
from annotations.release.rules.surrogates.identifiers import pour_phone
from annotations.release.rules.surrogates.pipeline import Cluster, MentionInNote, Surrogate
from annotations.release.rules.surrogates.templates import acronym_of, is_acronym, slots
from annotations.text.identifiers import IdentifierType
from annotations.text.spans import replaced

TEMPLATES: Final = INSTITUTIONS | PLACES | {IdentifierType.PROFESSION}
"""Kinds whose surrogates keep the words of the mention that say what it is, and replace the others one by one."""


def staying() -> frozenset[str]:
    """All folded words that surrogates may keep, because they name nobody: "hospital", "avenida", "dottssa".

    "example" is in the domain of every e-mail and web address that is a surrogate.
    """
    groups = ("institution", "street", "honor", "small", "particle", "caption")
    return people.titles().union(("example",), *(kept(group) for group in groups))


def part_name(role: str, index: int) -> str:
    """The name of a surrogate's part: "given", "given2", "family", "family2"."""
    group = "family" if role in (people.FAMILY, people.FAMILY_INITIAL) else "given"
    return group if index == 0 else f"{group}{index + 1}"


class Writer:
    """Writes one entity's mentions."""

    def __init__(self, surrogate: Surrogate, cluster: Cluster) -> None:
        self._surrogate = surrogate
        self._cluster = cluster
        self._lists: NamePool = names_of(known_language(cluster.language))
        self._done: dict[tuple[str, str], str] = {}
        self._person: people.NamedPerson | None = person_of(cluster) if cluster.kind in PEOPLE else None
        self._together = written_together(frozenset(cluster.forms), cluster.language) if self._person else {}
        self._slots = slots(cluster.forms[0], cluster.kind, cluster.language) if cluster.kind in TEMPLATES else ()

    def write(self, mention: MentionInNote) -> str:
        """The surrogate in the form of the mention."""
        key = (mention.text, mention.before)
        if key not in self._done:
            self._done[key] = self._write(mention)
        return self._done[key]

    def _write(self, mention: MentionInNote) -> str:
        mention = mention._replace(text=self._together.get(mention.text, mention.text))
        if self._person is not None:
            return self._name(mention, self._person)
        if self._cluster.kind in TEMPLATES:
            return self._template(mention.text)
        value = self._surrogate.parts.get("value", "")
        if self._cluster.kind in NUMBERS and self._cluster.kind != IdentifierType.IP:
            number = without_caption(mention.text)
            poured = (pour_phone if self._cluster.kind in TELEPHONES else pour)(value, number)
            return mention.text.removesuffix(number) + poured
        if mention.text.isupper():
            return value.upper()
        return value[:1].upper() + value[1:] if mention.text[:1].isupper() else value

    def _name(self, mention: MentionInNote, person: people.NamedPerson) -> str:
        name = read(mention, self._cluster.language)
        if not name.parts:
            return " ".join(self.part(part_name(role, 0)) for role in ("given", people.FAMILY))
        unmarked = self._unmarked(name, person)
        return replaced(mention.text, ((p.start, p.end, self._part(p, person, unmarked)) for p in name.parts))

    def _part(self, part: people.NameWord, person: people.NamedPerson, unmarked: bool) -> str:
        key, role = folded(part.text).replace(" ", ""), part.role
        own, other = person.given, person.family
        if role in (people.FAMILY, people.FAMILY_INITIAL):
            own, other = other, own
        if key in other and key not in own:  # alone, it is the part of a name that other mentions say
            own, role = other, people.GIVEN if role == people.FAMILY else people.FAMILY
        index = next((at for at, word in enumerate(own) if word == key), None)
        if index is None:
            index = next((at for at, word in enumerate(own) if people.same_word(word, key)), part.index)
        word = self.part(part_name(role, index))
        if part.role in (people.GIVEN_INITIAL, people.FAMILY_INITIAL) or len(part.text) == 1:
            return plain(word[0]).upper() if part.text.isupper() else plain(word[0]).lower()
        if key not in own and people.singular(key) in own:
            word += "s"
        if " " in part.text:  # "P E T R I E"
            return " ".join(cased(part.text, word).replace(" ", ""))
        return cased(part.text, plain(word) if unmarked else word)

    def part(self, name: str) -> str:
        """A part of the surrogate. One that it lacks, because a longer form appeared later, follows from the others."""
        found = self._surrogate.parts.get(name)
        if found:
            return found
        source = random.Random("|".join([name, *self._surrogate.parts.values()]))  # noqa: S311  # not a secret
        chain = self._lists.chains["surname" if name.startswith("family") else self._surrogate.parts.get("gender", "")]
        return chain.coin(source)

    def _unmarked(self, name: people.NamedPerson, person: people.NamedPerson) -> bool:
        """Whether the mention leaves out accents that its names have in the lists."""
        missing = False
        for part in name.parts:
            if accented(part.text):
                return False
            key = folded(part.text)
            known = (self._lists.surnames if part.role == people.FAMILY else self._lists.given).get(key)
            missing = missing or (known is not None and accented(known.text))
        if missing or any(map(accented, self._cluster.forms)):
            return missing
        entries = [*map(self._lists.given.get, person.given), *map(self._lists.surnames.get, person.family)]
        return any(entry is not None and accented(entry.text) for entry in entries)

    def _template(self, text: str) -> str:
        if not self._slots:
            return cased_phrase(text, self._surrogate.parts.get("value", ""))
        word = text.replace(".", "")
        if is_acronym(word):
            named = self._cluster.kind not in (IdentifierType.PROFESSION, IdentifierType.COUNTRY)
            short = self._slots[0].key != folded(word) and self._cluster.forms[0] != text
            if short or (named and len(self._slots) != 1):
                value = acronym_of(self._surrogate.parts.get("value", ""))
                return pour(value.ljust(len(word), "A")[: len(word)], text)
        edits: list[tuple[int, int, str]] = []
        used: set[int] = set()
        for order, slot in enumerate(slots(text, self._cluster.kind, self._cluster.language)):
            same = (at for at, own in enumerate(self._slots) if own.key == slot.key and at not in used)
            used.add(index := next(same, order))
            new = self._surrogate.parts.get(f"s{index}")
            if new is None:
                new = self.part(f"family{index}")
            if slot.text.isascii() and self._left_out(slot.text):
                new = plain(new)
            edits.append((slot.start, slot.end, cased_phrase(slot.text, new)))
        return replaced(text, edits)

    def _left_out(self, text: str) -> bool:
        """Whether the text leaves out an accent that the lists know."""
        keys = [folded(word) for word in text.split()]
        known = [self._lists.surnames.get(key) or self._lists.given.get(key) for key in keys]
        return any(entry is not None and accented(entry.text) for entry in known)


def cased_phrase(like: str, new: str) -> str:
    """A phrase in the case of another: all capitals, all small, or as it is."""
    if any(letter.isdigit() for letter in new):
        return new.lower() if like.islower() and not like.isdigit() else new
    if (" " in like or " " in new) and not (like.isupper() or like.islower()):
        return new
    return cased(like, new)


# Read a surrogate that a person, or a language model, wrote in full: its parts, as the rules make them.


_ADDRESS: Final = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]+")
_FREE: Final = DESCRIPTIONS - {IdentifierType.PROFESSION} | {
    IdentifierType.OTHER,
    IdentifierType.URL,
    IdentifierType.USERNAME,
}


def parts_of(cluster: Cluster, text: str) -> dict[str, str] | None:
    """The parts of a surrogate for an entity; None where the text can't replace what the notes say.

    A person needs a given name and a surname. Places and institutions need as many replaceable words as the longest
    original. A number needs as many letters and digits, digits where the original has digits.
    """
    text = " ".join(text.split())
    if not text or not cluster.mentions:
        return None
    if cluster.kind in PEOPLE:
        return _person(cluster, text)
    form = cluster.forms[0]
    if cluster.kind in TEMPLATES:
        return _template(cluster, form, text)
    if cluster.kind == IdentifierType.EMAIL:
        return {"value": text} if _ADDRESS.fullmatch(text) else None
    if cluster.kind in _FREE:
        return {"value": text}
    form, text = without_caption(form), without_caption(text)
    return {"value": text} if _shape(form) == _shape(text) else None


def _shape(text: str) -> str:
    return re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "0", compact(text)))


def _person(cluster: Cluster, text: str) -> dict[str, str] | None:
    if any(letter.isdigit() for letter in text):
        return None
    name = people.read_person(text, cluster.language)
    parts = {
        part_name(part.role, part.index): part.text for part in name.parts if part.role in (people.GIVEN, people.FAMILY)
    }
    if not {part_name(people.GIVEN, 0), part_name(people.FAMILY, 0)} <= set(parts):
        return None
    gender = name.gender or person_of(cluster).gender
    return parts | ({"gender": gender} if gender else {})


def _template(cluster: Cluster, form: str, text: str) -> dict[str, str] | None:
    ours = slots(form, cluster.kind, cluster.language)
    theirs = slots(text, cluster.kind, cluster.language)
    if not ours:
        return {"value": text}
    if len(ours) != len(theirs):
        return None
    return {f"s{at}": slot.text for at, slot in enumerate(theirs)} | {"value": text}
