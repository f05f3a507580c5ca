"""New places, institutions and professions: word by word, in an area that agrees with the patient's other places."""

import re
from collections.abc import Sequence
from typing import Final

from annotations.release.rules.surrogates.folding import accented, folded
from annotations.release.rules.surrogates.gazetteers import kept
from annotations.release.rules.surrogates.generating.words import TRIES, SurrogateDraft
from annotations.release.rules.surrogates.places import (
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
from annotations.release.rules.surrogates.scrambling import scrambled_digits
from annotations.release.rules.surrogates.templates import (
    ACRONYM,
    GIVEN,
    IN_COUNTRY,
    JOB,
    LETTER,
    NUMBER,
    SHORT,
    SURNAME,
    ZIP,
    Slot,
    field_of_work,
    slots,
    words_of,
)
from annotations.release.rules.surrogates.templates import WORD as UNKNOWN

_ROMAN: Final = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")


def new_template(words: SurrogateDraft) -> dict[str, str]:
    form = words.cluster.forms[0]
    found = slots(form, words.cluster.kind, words.cluster.language)
    if not found:
        return {"value": words.coin("surname", form)}
    for _ in range(TRIES):
        words.used = set()
        parts = _fill(words, form, found)
        if folded(parts["value"]) != folded(form) and folded(parts["value"]) not in words.avoid:
            break
    return parts


def _fill(words: SurrogateDraft, form: str, found: Sequence[Slot]) -> dict[str, str]:
    parts: dict[str, str] = {}
    area: Area | None = None
    city = ""
    if any(slot.kind in IN_COUNTRY for slot in found):
        area = _area(words, form)
        parts["area"] = area.key
    value, at = [], 0
    for index, slot in enumerate(found):
        new = _slot(words, slot, area, city)
        if slot.kind == CITY:
            city = new
        parts[f"s{index}"] = new
        value += [form[at : slot.start], new]
        at = slot.end
    value.append(form[at:])
    parts["value"] = "".join(value)
    return parts


def _slot(words: SurrogateDraft, slot: Slot, area: Area | None, city: str) -> str:
    if slot.kind == NUMBER:
        return words.unlike(slot.text, lambda: scrambled_digits(words.source, slot.text))
    if slot.kind == LETTER:
        letters = "ABCDEF" if slot.text.isupper() else "abcdef"
        return words.source.choice(letters.replace(slot.text, ""))
    if slot.kind == ACRONYM:
        return _acronym(words, slot.text)
    if slot.kind == GIVEN:
        known = words.lists.given.get(slot.key)
        return words.given(slot.key, known.gender if known else "", slot.text)
    if slot.kind == SURNAME:
        return words.surname(slot.key, slot.text)
    if slot.kind == JOB:
        return _job(words, slot)
    if slot.kind == UNKNOWN:
        return words.coin("surname", slot.text)
    if area is not None and slot.kind in IN_COUNTRY:
        return _place(words, slot, area, city)
    pool = [word for key, word in words_of(words.language, slot.kind).items() if key != slot.key]
    return words.use(words.pick(pool) or words.coin("surname", slot.text))


def _acronym(words: SurrogateDraft, text: str) -> str:
    if text in _ROMAN:
        return words.source.choice([number for number in _ROMAN if number != text])
    vowels = "AEIOU"
    consonants = "BCDFGHLMNPRSTV"
    return "".join(words.source.choice(vowels if letter in vowels else consonants) for letter in text.upper())


def _job(words: SurrogateDraft, slot: Slot) -> str:
    men, women = (words_of(words.language, f"{gender}_job") for gender in ("masculine", "feminine"))
    head = slot.key.partition(" ")[0]  # "profesora de inglés"
    feminine = bool({slot.key, head} & women.keys()) or (head.endswith("a") and not {slot.key, head} & men.keys())
    pool = list((women if feminine else men).values()) or list(words_of(words.language, JOB).values())
    field = field_of_work(slot.text, words.language)
    near = [word for word in pool if field_of_work(word, words.language) == field]
    return words.use(words.pick(near) or words.pick(pool) or words.source.choice(pool))


def _area(words: SurrogateDraft, form: str) -> Area:
    """The area in which the new place lies: where the patient's other places of the same original area are."""
    country = COUNTRY_OF[words.language]
    own = areas_in(form, country)
    if not own:
        first = words.cluster.mentions[0]
        own = areas_in(first.before, country) | areas_in(first.after, country)
    taken: set[str] = set()
    named = _has_name([form])
    for entity in words.around.related:
        key = entity.surrogate.parts.get("area")
        if not key:
            continue
        taken.add(key)
        if own and (named or _has_name(entity.forms)) and any(own & areas_in(text, country) for text in entity.forms):
            return areas()[key]
    if own and not any(key.startswith(country) for key in own):
        country = min(own)[:2]
    listed = [area for area in of_country(country) if area.key not in own]
    free = [area for area in listed if area.key not in taken] or listed
    if words.attempt < 2 and any(folded(capital(areas()[key])) in folded(form) for key in own):
        free = [area for area in free if words.free(capital(area))] or free  # a capital becomes a capital
    weights = [min(len(area.cities), 20) for area in free]
    return words.source.choices(free, weights)[0]


def _place(words: SurrogateDraft, slot: Slot, area: Area, city: str) -> str:
    if slot.kind == ZIP:
        like = slot.text
        return words.unlike(like, lambda: zip_in(words.source, area, city or _city_of(words, area), like))
    if slot.kind == SHORT:
        return area.short or words.source.choice(
            [other.short for other in of_country(area.country) if other.short] or [""]
        )
    if slot.kind in (REGION, PROVINCE):
        return words.use(_region(words, slot.kind, area) or _coin_town(words, slot, area))
    known = areas_in(slot.text, area.country)
    if known:
        is_capital = any(folded(capital(areas()[key])) == slot.key for key in known)
        if words.attempt < 2 and is_capital and words.free(capital(area)):
            return words.use(capital(area))
        pool = [town for town in area.cities if accented(town) == accented(slot.text)] or list(area.cities)
        if words.attempt < 6 and (found := words.pick(pool)):
            return words.use(found)
    return _coin_town(words, slot, area)


def _region(words: SurrogateDraft, kind: str, area: Area) -> str:
    """The name of a region or province: the area's, after collisions that of another; empty if all are taken."""
    if words.attempt < 3 and (found := words.pick(area.regions if kind == REGION else area.names)):
        return found
    if words.attempt > 30:
        return ""
    others = of_country(area.country)
    return words.pick([name for other in others for name in (other.regions if kind == REGION else other.names)])


def _city_of(words: SurrogateDraft, area: Area) -> str:
    """A city of the area that the patient's surrogates have already; empty if none."""
    for entity in words.around.related:
        if entity.surrogate.parts.get("area") == area.key:
            for text in entity.surrogate.parts.values():
                if text in area.cities:
                    return text
    return ""


def _coin_town(words: SurrogateDraft, slot: Slot, area: Area) -> str:
    """A made-up place with the little words of the original: "Villar del Olmo" → "Alcar del Donda"."""
    out = []
    for word in slot.text.split():
        prefix = re.match(r"(?:nell|dell|all|sull|dall|d|l)['’]", word, re.IGNORECASE)
        start = prefix.group(0) if prefix else ""
        out.append(word if folded(word) in kept("small") else start + _town(words, area, word[len(start) :]))
    return words.use(" ".join(out))


def _town(words: SurrogateDraft, area: Area, like: str) -> str:
    made = ""
    for _ in range(TRIES):
        made = towns(area.country).coin(words.source, like)
        if words.free(made):
            break
    return made


def _has_name(forms: Sequence[str]) -> bool:
    """Whether an entity's forms have letters, unlike a ZIP code."""
    return any(letter.isalpha() for text in forms for letter in text)
