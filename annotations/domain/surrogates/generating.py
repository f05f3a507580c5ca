"""Make surrogates by rules: names, places, institutions, numbers and addresses in the style of what they replace."""

import random
import re
import string
from collections.abc import Callable, Container, Mapping, Sequence
from functools import cached_property
from typing import Final

from annotations.domain.redaction.kinds import Kind
from annotations.domain.surrogates.clustering import PEOPLE
from annotations.domain.surrogates.deciding import person_of
from annotations.domain.surrogates.folding import LONG, accented, folded, long_words, plain, runs
from annotations.domain.surrogates.gazetteers import COMMON, KNOWN, RARE, Known, Names, kept, known_language, names_of
from annotations.domain.surrogates.identifiers import (
    compact,
    digits,
    example_domain,
    new_ip,
    new_number,
    new_phone,
    scrambled_digits,
)
from annotations.domain.surrogates.people import Person, fullest, read_person
from annotations.domain.surrogates.pipeline import Around, Cluster, Surrogate
from annotations.domain.surrogates.places import (
    CITY,
    COUNTRY_OF,
    PROVINCE,
    REGION,
    Area,
    areas,
    areas_in,
    capital,
    of_country,
    towns,
    zip_in,
)
from annotations.domain.surrogates.templates import (
    ACRONYM,
    GIVEN,
    JOB,
    LETTER,
    NUMBER,
    SHORT,
    SURNAME,
    ZIP,
    Slot,
    slots,
    words_of,
)
from annotations.domain.surrogates.templates import WORD as UNKNOWN
from annotations.domain.surrogates.writing import TEMPLATES, part_name

_TRIES: Final = 60
_ROMAN: Final = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")
_PLACE_KINDS: Final = frozenset({CITY, PROVINCE, REGION, ZIP, SHORT})
ORDER: Final = (
    Kind.NAME,
    Kind.STAFF,
    Kind.COUNTRY,
    Kind.REGION,
    Kind.CITY,
    Kind.LOCATION,
    Kind.ZIP,
    Kind.STREET,
    Kind.HOSPITAL,
    Kind.ORGANIZATION,
)
"""Kinds in the order in which surrogates must be made, so that later ones can agree with earlier ones."""
_RANK: Final = {kind: at for at, kind in enumerate(ORDER)}


def in_order(clusters: Sequence[Cluster]) -> list[Cluster]:
    """The clusters of a patient in the order in which their surrogates must be made."""
    return sorted(clusters, key=order)


def order(cluster: Cluster) -> tuple[int, bool]:
    """The sort key of `in_order`: people before places before all else, and cities before their ZIP codes."""
    return _RANK.get(cluster.kind, len(_RANK)), not any(letter.isalpha() for letter in cluster.forms[0])


class RuleGenerator:
    """Makes surrogates from lists and ranges. All chance comes from `source`, which the caller seeds.

    A word that the lists know is replaced by one of the lists with the same gender, about the same frequency, and an
    accent if it has one; a word that they don't know by a made-up one that they don't know either. So neither style nor
    the lists tell a surrogate from an original that was missed.
    """

    def __init__(self, source: random.Random) -> None:
        self._source = source

    def generate(self, cluster: Cluster, around: Around, avoid: Container[str], attempt: int) -> Surrogate:
        """A new surrogate. `avoid`: folded texts that it must not be or contain, with a fast `in`."""
        making = _Making(self._source, cluster, around, avoid, attempt)
        return Surrogate(cluster.kind, making.parts())


class _Making:
    """The making of one surrogate."""

    def __init__(
        self, source: random.Random, cluster: Cluster, around: Around, avoid: Container[str], attempt: int
    ) -> None:
        self.source, self.cluster, self.around, self.avoid, self.attempt = source, cluster, around, avoid, attempt
        self.language = known_language(cluster.language)
        self.lists: Names = names_of(self.language)
        self.used: set[str] = set()

    @cached_property
    def own(self) -> set[str]:
        """The words of the entity, and the long ones of the patient's others, which must not stay in the notes."""
        words = {word for form in self.cluster.forms for word in folded(form).split()}
        words.update(*(long_words(form) for entity in self.around.related for form in entity.forms))
        return words

    def parts(self) -> dict[str, str]:
        kind = self.cluster.kind
        if kind in PEOPLE:
            return self._person()
        if kind in TEMPLATES:
            return self._template()
        text = self.cluster.forms[0]
        return {"value": self._unlike(text, lambda: self._value(kind, text))}

    # --- words ---

    def _free(self, word: str) -> bool:
        """Whether a word may be used: not the original's, not used yet, not to avoid."""
        key = folded(word)
        if not key or key in self.used or key in self.own:
            return False
        return (
            not any((run in self.avoid and len(run) >= LONG) or run in self.own for run in runs(key))
            and key not in self.avoid
        )

    def _pick(self, pool: Sequence[str]) -> str:
        """A free word of the pool; empty if there is none after some tries."""
        for _ in range(_TRIES if len(pool) > 1 else 2):
            word = self.source.choice(pool)
            if self._free(word):
                return word
        return ""

    def _surname(self, key: str, text: str = "") -> str:
        known = self.lists.surnames.get(key)
        band = self._band(known, bool(key) and len(key) > 1)
        marked = accented(known.text) if known else accented(text)
        if band != RARE:
            pool = self.lists.surname_pools.get((band, marked)) or self.lists.surname_pools[KNOWN, False]
            if found := self._pick(pool):
                return self._use(found)
        return self._coin("surname", text or key)

    def _given(self, key: str, gender: str, text: str = "") -> str:
        known = self.lists.given.get(key)
        band = self._band(known, bool(key) and len(key) > 1)
        marked = accented(known.text) if known else accented(text)
        if band != RARE:
            pools = self.lists.given_pools
            pool = pools.get((band, gender, marked)) or pools[KNOWN, gender, False]
            if found := self._pick(pool):
                return self._use(found)
        return self._coin(gender, text or key)

    def _band(self, known: Known | None, written: bool) -> int:
        if self.attempt > 8:
            return self.source.choice((KNOWN, RARE))
        if known is not None:
            return known.band
        if written:
            return RARE
        return self.source.choice((COMMON, COMMON, KNOWN))

    def _coin(self, chain: str, like: str) -> str:
        made = ""
        for _ in range(_TRIES):
            made = self.lists.chains[chain].coin(self.source, like)
            if self._free(made):
                break
        return self._use(made)

    def _use(self, word: str) -> str:
        self.used.add(folded(word))
        return word

    # --- people ---

    def _person(self) -> dict[str, str]:
        person = person_of(self.cluster)
        gender = person.gender
        forms = self.cluster.forms
        texts = {
            folded(word): word for form in reversed(forms) for word in re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)*", form)
        }
        shared, others = self._relatives(person)
        letters = {word[0] for word in (*person.given, *person.family) if word}
        initials = any(len(word) == 1 for word in (*person.given, *person.family)) or any(
            re.search(r"\b[^\W\d_]\.", form) for form in forms
        )
        for _ in range(_TRIES):
            self.used = set(others)
            parts: dict[str, str] = {}
            for index in range(max(1, len(person.given))):
                key = person.given[index] if index < len(person.given) else ""
                parts[part_name("given", index)] = self._given(key, gender, texts.get(key, ""))
            for index in range(max(1, len(person.family))):
                key = person.family[index] if index < len(person.family) else ""
                parts[part_name("family", index)] = shared.get(key) or self._surname(key, texts.get(key, ""))
            name = folded(" ".join(parts.values()))
            if initials and {folded(word)[0] for word in parts.values()} & letters:
                continue
            if name not in self.avoid:
                break
        if gender:
            parts["gender"] = gender
        return parts

    def _relatives(self, person: Person) -> tuple[dict[str, str], set[str]]:
        """Surrogates of the surnames that this person shares with others of the patient, and the others' names."""
        shared: dict[str, str] = {}
        others: set[str] = set()
        for entity in self.around.related:
            if entity.kind not in PEOPLE:
                continue
            theirs = fullest(read_person(form, self.cluster.language) for form in entity.forms)
            for index, word in enumerate(theirs.family):
                new = entity.surrogate.parts.get(part_name("family", index))
                if new and len(word) > 1 and word in person.family and folded(new) not in self.avoid:
                    shared[word] = new
            others |= {folded(text) for name, text in entity.surrogate.parts.items() if name != "gender"}
        return shared, others

    # --- places and institutions ---

    def _template(self) -> dict[str, str]:
        form = self.cluster.forms[0]
        found = slots(form, self.cluster.kind, self.cluster.language)
        if not found:
            return {"value": self._coin("surname", form)}
        for _ in range(_TRIES):
            self.used = set()
            parts = self._fill(form, found)
            if folded(parts["value"]) != folded(form) and folded(parts["value"]) not in self.avoid:
                break
        return parts

    def _fill(self, form: str, found: Sequence[Slot]) -> dict[str, str]:
        parts: dict[str, str] = {}
        area: Area | None = None
        city = ""
        if any(slot.kind in _PLACE_KINDS for slot in found):
            area = self._area(form)
            parts["area"] = area.key
        value, at = [], 0
        for index, slot in enumerate(found):
            new = self._slot(slot, area, city)
            if slot.kind == CITY:
                city = new
            parts[f"s{index}"] = new
            value += [form[at : slot.start], new]
            at = slot.end
        value.append(form[at:])
        parts["value"] = "".join(value)
        return parts

    def _slot(self, slot: Slot, area: Area | None, city: str) -> str:
        if slot.kind == NUMBER:
            return self._unlike(slot.text, lambda: scrambled_digits(self.source, slot.text))
        if slot.kind == LETTER:
            letters = "ABCDEF" if slot.text.isupper() else "abcdef"
            return self.source.choice(letters.replace(slot.text, ""))
        if slot.kind == ACRONYM:
            return self._acronym(slot.text)
        if slot.kind == GIVEN:
            known = self.lists.given.get(slot.key)
            return self._given(slot.key, known.gender if known else "", slot.text)
        if slot.kind == SURNAME:
            return self._surname(slot.key, slot.text)
        if slot.kind == JOB:
            return self._job(slot)
        if slot.kind == UNKNOWN:
            return self._coin("surname", slot.text)
        if area is not None and slot.kind in _PLACE_KINDS:
            return self._place(slot, area, city)
        pool = [word for key, word in words_of(self.language, slot.kind).items() if key != slot.key]
        return self._use(self._pick(pool) or self._coin("surname", slot.text))

    def _acronym(self, text: str) -> str:
        if text in _ROMAN:
            return self.source.choice([number for number in _ROMAN if number != text])
        vowels = "AEIOU"
        consonants = "BCDFGHLMNPRSTV"
        return "".join(self.source.choice(vowels if letter in vowels else consonants) for letter in text.upper())

    def _job(self, slot: Slot) -> str:
        feminine = slot.key in _group(self.language, "feminine_job") or (
            slot.key.endswith("a") and slot.key not in _group(self.language, "masculine_job")
        )
        groups = ("feminine_job",) if feminine else ("masculine_job",)
        pool = [word for group in groups for word in _group(self.language, group).values()]
        pool = pool or list(words_of(self.language, JOB).values())
        return self._use(self._pick(pool) or self.source.choice(pool))

    def _area(self, form: str) -> Area:
        """The area in which the new place lies: where the patient's other places of the same original area are."""
        country = COUNTRY_OF[self.language]
        own = areas_in(form, country)
        if not own:
            first = self.cluster.mentions[0]
            own = areas_in(first.before, country) | areas_in(first.after, country)
        taken: set[str] = set()
        named = _has_name([form])
        for entity in self.around.related:
            key = entity.surrogate.parts.get("area")
            if not key:
                continue
            taken.add(key)
            if (
                own
                and (named or _has_name(entity.forms))
                and any(own & areas_in(text, country) for text in entity.forms)
            ):
                return areas()[key]
        if own and not any(key.startswith(country) for key in own):
            country = min(own)[:2]
        listed = [area for area in of_country(country) if area.key not in own]
        free = [area for area in listed if area.key not in taken] or listed
        if self.attempt < 2 and any(folded(capital(areas()[key])) in folded(form) for key in own):
            free = [area for area in free if self._free(capital(area))] or free  # a capital becomes a capital
        weights = [min(len(area.cities), 20) for area in free]
        return self.source.choices(free, weights)[0]

    def _place(self, slot: Slot, area: Area, city: str) -> str:
        if slot.kind == ZIP:
            like = slot.text
            return self._unlike(like, lambda: zip_in(self.source, area, city or self._city_of(area), like))
        if slot.kind == SHORT:
            return area.short or self.source.choice(
                [other.short for other in of_country(area.country) if other.short] or [""]
            )
        if slot.kind in (REGION, PROVINCE):
            return self._use(self._region(slot.kind, area) or self._coin_town(slot, area))
        known = areas_in(slot.text, area.country)
        if known:
            is_capital = any(folded(capital(areas()[key])) == slot.key for key in known)
            if self.attempt < 2 and is_capital and self._free(capital(area)):
                return self._use(capital(area))
            pool = [town for town in area.cities if accented(town) == accented(slot.text)] or list(area.cities)
            if self.attempt < 6 and (found := self._pick(pool)):
                return self._use(found)
        return self._coin_town(slot, area)

    def _region(self, kind: str, area: Area) -> str:
        """The name of a region or province: the area's, after collisions that of another; empty if all are taken."""
        if self.attempt < 3 and (found := self._pick(area.regions if kind == REGION else area.names)):
            return found
        if self.attempt > 30:
            return ""
        others = of_country(area.country)
        return self._pick([name for other in others for name in (other.regions if kind == REGION else other.names)])

    def _city_of(self, area: Area) -> str:
        """A city of the area that the patient's surrogates have already; empty if none."""
        for entity in self.around.related:
            if entity.surrogate.parts.get("area") == area.key:
                for text in entity.surrogate.parts.values():
                    if text in area.cities:
                        return text
        return ""

    def _coin_town(self, slot: Slot, area: Area) -> str:
        """A made-up place with the little words of the original: "Villar del Olmo" → "Alcar del Donda"."""
        out = []
        for word in slot.text.split():
            prefix = re.match(r"(?:nell|dell|all|sull|dall|d|l)['’]", word, re.IGNORECASE)
            start = prefix.group(0) if prefix else ""
            out.append(word if folded(word) in kept("small") else start + self._town(area, word[len(start) :]))
        return self._use(" ".join(out))

    def _town(self, area: Area, like: str) -> str:
        made = ""
        for _ in range(_TRIES):
            made = towns(area.country).coin(self.source, like)
            if self._free(made):
                break
        return made

    # --- other kinds ---

    def _unlike(self, text: str, make: Callable[[], str]) -> str:
        """A made value that isn't the text and isn't to avoid."""
        made = make()
        for _ in range(_TRIES):
            flat = compact(made).casefold()
            if flat != compact(text).casefold() and flat not in self.avoid and folded(made) not in self.avoid:
                break
            made = make()
        return made

    def _value(self, kind: Kind, text: str) -> str:
        if kind in (Kind.PHONE, Kind.FAX):
            return new_phone(self.source, text, self.language)
        if kind == Kind.EMAIL:
            local, at, domain = text.strip().partition("@")
            if not at:
                return self._account(local)
            return f"{self._account(local)}@{example_domain(domain)}"
        if kind == Kind.USERNAME:
            return self._account(text.strip())
        if kind == Kind.URL:
            return self._url(text.strip())
        if kind == Kind.IP:
            return new_ip(self.source, text.strip())
        if kind == Kind.AGE:
            return re.sub(
                r"\d{1,9}", lambda found: str(max(0, int(found.group(0)) + self.source.choice((-2, -1, 1, 2)))), text
            )
        new = new_number(
            self.source,
            text,
            kind=str(kind),
            language=self.language,
            person=self._owner(),
            days=self.around.days,
            loose=self.attempt > 5,
        )
        if self.attempt > 20:  # there are too few numbers this short
            new += digits(self.source, self.attempt // 20)
        return new

    def _owner(self) -> tuple[str, str, str] | None:
        """The surrogate of the patient's name, for codes that contain it: given names, surnames, gender."""
        for entity in self.around.related:
            if entity.kind == Kind.NAME:
                parts = entity.surrogate.parts
                return parts.get("given", ""), parts.get("family", ""), parts.get("gender", "")
        return None

    def _account(self, local: str) -> str:
        """The local part of an e-mail address, or a user name: with the surrogate of the name that it contains."""
        new = self._named_account(local)
        if new:
            return new + (str(self.source.randint(2, 99)) if self.attempt else "")
        out = []
        for piece in re.findall(r"[^\W\d_]+|\d+|[\W_]", local):
            if piece.isdigit():
                out.append(scrambled_digits(self.source, piece))
            elif piece.isalpha():
                out.append(self._spelled(piece))
            else:
                out.append(piece)
        return "".join(out)

    def _spelled(self, piece: str) -> str:
        """Letters in place of letters: a name about as long, or random letters for up to three."""
        if len(piece) <= 3:
            return "".join(self.source.choice(string.ascii_lowercase) for _ in piece)
        key = folded(piece)
        if key in self.lists.given:
            word = self._given(key, self.lists.given[key].gender)
        elif key in self.lists.surnames:
            word = self._surname(key)
        else:
            word = self._coin("surname", piece)
        word = folded(word).replace(" ", "")
        return word.upper() if piece.isupper() else word

    def _named_account(self, local: str) -> str:
        """The account with each name of a related person replaced by the surrogate's; empty if it has none."""
        flat = plain(local).casefold()
        best: list[tuple[int, int, str]] = []
        for entity in self.around.related:
            if entity.kind not in PEOPLE:
                continue
            person = fullest(read_person(form, self.cluster.language) for form in entity.forms)
            found = _names_in(flat, person, entity.surrogate.parts)
            if sum(end - start for start, end, _ in found) > sum(end - start for start, end, _ in best):
                best = found
        if not best:
            return ""
        out, at = [], 0
        for start, end, new in best:
            out += [self._filler(local[at:start]), new]
            at = end
        out.append(self._filler(local[at:]))
        return "".join(out)

    def _filler(self, text: str) -> str:
        return "".join(
            self.source.choice(string.digits)
            if letter.isdigit()
            else self.source.choice(string.ascii_lowercase)
            if letter.isalpha()
            else letter
            for letter in text
        )

    def _url(self, text: str) -> str:
        found = re.match(r"(\w+://)?(www\.)?([^/?#\s]+)(.*)", text, re.DOTALL)
        if not found:
            return "www.example.org"
        scheme, www, host, rest = found.groups()
        path = re.sub(r"[^\W\d_]{4,}|\d+", lambda piece: self._path(piece.group(0)), rest)
        return f"{scheme or ''}{www or ''}{example_domain(host)}{path}"

    def _path(self, piece: str) -> str:
        if piece.isdigit():
            return scrambled_digits(self.source, piece)
        if piece.casefold() in ("html", "index", "aspx", "home", "https", "http"):
            return piece
        return folded(self._coin("surname", piece))


def _has_name(forms: Sequence[str]) -> bool:
    """Whether an entity's forms have letters, unlike a ZIP code."""
    return any(letter.isalpha() for text in forms for letter in text)


def _group(language: str, group: str) -> Mapping[str, str]:
    return words_of(language, group)


def _names_in(flat: str, person: Person, parts: Mapping[str, str]) -> list[tuple[int, int, str]]:
    """Where an account has names of a person, or initials right before one: (start, end, new text), in order."""
    found: list[tuple[int, int, str]] = []
    for role, words in (("family", person.family), ("given", person.given)):
        for index, word in enumerate(words):
            new = plain(parts.get(part_name(role, index), "")).casefold().replace(" ", "")
            if not new or len(word) < 3:
                continue
            for length in range(len(word), 2, -1):
                at = flat.find(word[:length])
                if at >= 0 and not any(start < at + length and at < end for start, end, _ in found):
                    found.append((at, at + length, new if length == len(word) else new[:length]))
                    break
    if not found:
        return []
    found.sort()
    initials: list[tuple[int, int, str]] = []
    letters = {
        word[0]: plain(parts.get(part_name("given", at), " ")).casefold()[0] for at, word in enumerate(person.given)
    }
    letters |= {
        word[0]: plain(parts.get(part_name("family", at), " ")).casefold()[0] for at, word in enumerate(person.family)
    }
    covered = {at for start, end, _ in found for at in range(start, end)}
    for at, letter in enumerate(flat):
        if at not in covered and letter in letters and letters[letter].isalpha():
            near = (at + 1 in covered or at - 1 in covered or not flat[at - 1 : at].isalpha()) if at else True
            if near:
                initials.append((at, at + 1, letters[letter]))
    return sorted(found + initials)
