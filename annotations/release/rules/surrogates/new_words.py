"""Words for one new surrogate: free ones of the lists, or made-up ones that no list has."""

import random
import re
from collections.abc import Callable, Container, Mapping, Sequence
from functools import cached_property
from typing import Final

from annotations.release.rules.surrogates import folding, gazetteers, places, templates
from annotations.release.rules.surrogates.people import titles
from annotations.release.rules.surrogates.pipeline import Around, Cluster
from annotations.text.spans import replaced

TRIES: Final = 60


class SurrogateDraft:
    """One surrogate in the making: its random generator, its entity, what is around, and the words not to use.

    `avoid`: folded texts that the surrogate must not be or contain. `attempt` counts collisions from 0. `used` holds
    the folded words that the surrogate has already.
    """

    def __init__(
        self, rng: random.Random, cluster: Cluster, around: Around, avoid: Container[str], attempt: int
    ) -> None:
        self.rng, self.cluster, self.around, self.avoid, self.attempt = rng, cluster, around, avoid, attempt
        self.language = gazetteers.known_language(cluster.language)
        self.lists: gazetteers.NamePool = gazetteers.names_of(self.language)
        self.used: set[str] = set()

    @cached_property
    def own(self) -> set[str]:
        """The words of the entity, and the long ones of the patient's others, which must not stay in the notes."""
        words = {word for form in self.cluster.forms for word in folding.folded(form).split()}
        words.update(*(folding.long_words(form) for entity in self.around.related for form in entity.forms))
        return words

    def free(self, word: str) -> bool:
        """Whether a word may be used: not the original's, not used yet, not to avoid."""
        key = folding.folded(word)
        if not key or key in self.used or key in titles() or key in self.avoid:
            return False
        runs = folding.runs(key)
        return not any(run in self.own or (len(run) >= folding.LONG and run in self.avoid) for run in runs)

    def pick(self, pool: Sequence[str]) -> str:
        """A free word of the pool; empty if the pool is, or if there is none after some tries."""
        for _ in range(TRIES if len(pool) > 1 else 2 * len(pool)):
            word = self.rng.choice(pool)
            if self.free(word):
                return word
        return ""

    def surname(self, key: str, text: str = "") -> str:
        return self._name("surname", self.lists.surnames, key, text)

    def given(self, key: str, gender: str, text: str = "") -> str:
        return self._name(gender, self.lists.given, key, text)

    def _name(self, group: str, names: Mapping[str, gazetteers.KnownName], key: str, text: str) -> str:
        """A name of a group: "surname", or given names of f, m or no gender."""
        known = names.get(key)
        band = self._band(known, bool(key) and len(key) > 1)
        marked = folding.accented(known.text) if known else folding.accented(text)
        if band != gazetteers.RARE:
            pools = self.lists.pools
            if found := self.pick(pools.get((group, band, marked)) or pools[group, gazetteers.KNOWN, False]):
                return self.use(found)
        return self.coin(group, text or key)

    def _band(self, known: gazetteers.KnownName | None, written: bool) -> int:
        if self.attempt > 8:
            return self.rng.choice((gazetteers.KNOWN, gazetteers.RARE))
        if known is not None:
            return known.band
        if written:
            return gazetteers.RARE
        return self.rng.choice((gazetteers.COMMON, gazetteers.COMMON, gazetteers.KNOWN))

    def coin(self, chain: str, like: str) -> str:
        return self.use(self.coined(self.lists.chains[chain], like))

    def coined(self, chain: gazetteers.Chain, like: str) -> str:
        made = ""
        for _ in range(TRIES):
            made = chain.coin(self.rng, like)
            if self.free(made):
                break
        return made

    def use(self, word: str) -> str:
        self.used.add(folding.folded(word))
        return word

    def unlike(self, text: str, make: Callable[[], str]) -> str:
        """A made value that isn't the text and isn't to avoid."""
        made, own = make(), folding.compact(text).casefold()
        for _ in range(TRIES):
            flat = folding.compact(made).casefold()
            if flat != own and flat not in self.avoid and folding.folded(made) not in self.avoid:
                break
            made = make()
        return made


# New places, institutions and professions: word by word, in an area that agrees with the patient's other places.


_ROMAN: Final = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")


def new_template(words: SurrogateDraft) -> dict[str, str]:
    form = words.cluster.forms[0]
    found = templates.slots(form, words.cluster.kind, words.cluster.language)
    if not found:
        return {"value": words.coin("surname", form)}
    for _ in range(TRIES):
        words.used = set()
        parts = _fill(words, form, found)
        if folding.folded(parts["value"]) != folding.folded(form) and folding.folded(parts["value"]) not in words.avoid:
            break
    return parts


def _fill(words: SurrogateDraft, form: str, found: Sequence[templates.Slot]) -> dict[str, str]:
    parts: dict[str, str] = {}
    area: places.Area | None = None
    city = ""
    if any(slot.kind in templates.IN_COUNTRY for slot in found):
        area = _area(words, form)
        parts["area"] = area.key
    edits: list[tuple[int, int, str]] = []
    for index, slot in enumerate(found):
        new = parts[f"s{index}"] = _slot(words, slot, area, city)
        if slot.kind == places.CITY:
            city = new
        edits.append((slot.start, slot.end, new))
    return parts | {"value": replaced(form, edits)}


def _slot(words: SurrogateDraft, slot: templates.Slot, area: places.Area | None, city: str) -> str:
    if slot.kind == templates.NUMBER:
        return words.unlike(slot.text, lambda: folding.scrambled_digits(words.rng, slot.text))
    if slot.kind == templates.LETTER:
        letters = "ABCDEF" if slot.text.isupper() else "abcdef"
        return words.rng.choice(letters.replace(slot.text, ""))
    if slot.kind == templates.ACRONYM:
        return _acronym(words, slot.text)
    if slot.kind == templates.GIVEN:
        known = words.lists.given.get(slot.key)
        return words.given(slot.key, known.gender if known else "", slot.text)
    if slot.kind == templates.SURNAME:
        return words.surname(slot.key, slot.text)
    if slot.kind == templates.JOB:
        return _job(words, slot)
    if slot.kind == templates.WORD:
        return words.coin("surname", slot.text)
    if area is not None and slot.kind in templates.IN_COUNTRY:
        return _place(words, slot, area, city)
    pool = [word for key, word in templates.words_of(words.language, slot.kind).items() if key != slot.key]
    return words.use(words.pick(pool) or words.coin("surname", slot.text))


def _acronym(words: SurrogateDraft, text: str) -> str:
    if text in _ROMAN:
        return words.rng.choice([number for number in _ROMAN if number != text])
    vowels = "AEIOU"
    consonants = "BCDFGHLMNPRSTV"
    return "".join(words.rng.choice(vowels if letter in vowels else consonants) for letter in text.upper())


def _job(words: SurrogateDraft, slot: templates.Slot) -> str:
    men, women = (templates.words_of(words.language, f"{gender}_job") for gender in ("masculine", "feminine"))
    head = slot.key.partition(" ")[0]  # "profesora de inglés"
    feminine = bool({slot.key, head} & women.keys()) or (head.endswith("a") and not {slot.key, head} & men.keys())
    pool = list((women if feminine else men).values()) or list(
        templates.words_of(words.language, templates.JOB).values()
    )
    field = templates.field_of_work(slot.text, words.language)
    near = [word for word in pool if templates.field_of_work(word, words.language) == field]
    return words.use(words.pick(near) or words.pick(pool) or words.rng.choice(pool))


def _area(words: SurrogateDraft, form: str) -> places.Area:
    """The area in which the new place lies: where the patient's other places of the same original area are."""
    country = places.COUNTRY_OF[words.language]
    own = places.areas_in(form, country)
    if not own:
        first = words.cluster.mentions[0]
        own = places.areas_in(first.before, country) | places.areas_in(first.after, country)
    taken: set[str] = set()
    named = _has_name([form])
    for entity in words.around.related:
        key = entity.surrogate.parts.get("area")
        if not key:
            continue
        taken.add(key)
        near = own and any(own & places.areas_in(text, country) for text in entity.forms)
        if near and (named or _has_name(entity.forms)):
            return places.areas()[key]
    if own and not any(key.startswith(country) for key in own):
        country = min(own)[:2]
    listed = [area for area in places.of_country(country) if area.key not in own]
    free = [area for area in listed if area.key not in taken] or listed
    if words.attempt < 2 and any(
        folding.folded(places.capital(places.areas()[key])) in folding.folded(form) for key in own
    ):
        free = [area for area in free if words.free(places.capital(area))] or free  # a capital becomes a capital
    weights = [min(len(area.cities), 20) for area in free]
    return words.rng.choices(free, weights)[0]


def _place(words: SurrogateDraft, slot: templates.Slot, area: places.Area, city: str) -> str:
    if slot.kind == templates.ZIP:
        like = slot.text
        return words.unlike(like, lambda: places.zip_in(words.rng, area, city or _city_of(words, area), like))
    if slot.kind == templates.SHORT:
        return area.short or words.rng.choice(
            [other.short for other in places.of_country(area.country) if other.short] or [""]
        )
    if slot.kind in (places.REGION, places.PROVINCE):
        return words.use(_region(words, slot.kind, area) or _coin_town(words, slot, area))
    known = places.areas_in(slot.text, area.country)
    if known:
        is_capital = any(folding.folded(places.capital(places.areas()[key])) == slot.key for key in known)
        if words.attempt < 2 and is_capital and words.free(places.capital(area)):
            return words.use(places.capital(area))
        pool = [town for town in area.cities if folding.accented(town) == folding.accented(slot.text)] or list(
            area.cities
        )
        if words.attempt < 6 and (found := words.pick(pool)):
            return words.use(found)
    return _coin_town(words, slot, area)


def _region(words: SurrogateDraft, kind: str, area: places.Area) -> str:
    """The name of a region or province: the area's, after collisions that of another; empty if all are taken."""
    if words.attempt < 3 and (found := words.pick(area.regions if kind == places.REGION else area.names)):
        return found
    if words.attempt > 30:
        return ""
    others = places.of_country(area.country)
    return words.pick([name for other in others for name in (other.regions if kind == places.REGION else other.names)])


def _city_of(words: SurrogateDraft, area: places.Area) -> str:
    """A city of the area that the patient's surrogates have already; empty if none."""
    near = (entity.surrogate.parts for entity in words.around.related if entity.surrogate.parts.get("area") == area.key)
    return next((text for parts in near for text in parts.values() if text in area.cities), "")


def _coin_town(words: SurrogateDraft, slot: templates.Slot, area: places.Area) -> str:
    """A made-up place with the little words of the original: "Villar del Olmo" → "Alcar del Donda"."""
    out, chain = [], places.towns(area.country)
    for word in slot.text.split():
        if folding.folded(word) not in gazetteers.kept("small"):
            prefix = re.match(r"(?:(?:nell|dell|all|sull|dall|d|l)['’])?", word, re.IGNORECASE)
            start = prefix[0] if prefix else ""
            word = start + words.coined(chain, word[len(start) :])
        out.append(word)
    return words.use(" ".join(out))


def _has_name(forms: Sequence[str]) -> bool:
    """Whether an entity's forms have letters, unlike a ZIP code."""
    return any(letter.isalpha() for text in forms for letter in text)
