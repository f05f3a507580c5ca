"""Places by country: cities with their province or state and the range of their ZIP codes.

An area is a province (Spain, Italy), a state (United States) or a county (United Kingdom); its name is unique, such as
"es:28" for Madrid. Italian places and ZIP codes come from Faker, whose list is that of Italy's post office.
"""

import random
import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from annotations.release.rules.surrogates.folding import folded
from annotations.release.rules.surrogates.gazetteers import Chain, lines, provider

COUNTRY_OF: Final = {"es": "es", "it": "it", "en": "us"}
CITY, PROVINCE, REGION = "city", "province", "region"
ZIP: Final = {
    "es": re.compile(r"(?<![\w-])(?:E-?)?(\d{5})(?!\w)"),
    "it": re.compile(r"(?<![\w-])(?:I-)?(\d{5})(?!\w)"),
    "us": re.compile(r"(?<![\w-])(\d{5})(?:-\d{4})?(?!\w)"),
    "gb": re.compile(r"\b([A-Z]{1,2})\d[A-Z\d]?\s*\d[A-Z]{2}\b", re.IGNORECASE),
}


@dataclass(frozen=True, slots=True)
class Area:
    """A province, state or county. `cities` maps names to the start of their ZIP codes, the capital first."""

    key: str
    country: str
    short: str
    names: Sequence[str]
    regions: Sequence[str]
    cities: Mapping[str, str]


@cache
def areas() -> dict[str, Area]:
    """All areas by key."""
    out: dict[str, Area] = {}
    for line in lines("places_es.txt"):
        code, regions, names, towns = (part.strip() for part in line.split("|"))
        cities = {town.strip(): code + "0" * (not at) for at, town in enumerate(towns.split(";"))}
        out[f"es:{code}"] = Area(f"es:{code}", "es", "", _list(names), _list(regions), cities)
    for country in ("us", "gb"):
        for line in lines(f"places_{country}.txt"):
            *shorts, name, towns = (part.strip() for part in line.split("|"))  # counties have no abbreviation
            short = "".join(shorts)
            cities = dict(town.strip().rsplit(" ", 1) for town in towns.split(";"))
            key = f"{country}:{short or name}"
            out[key] = Area(key, country, short, [name], [name], cities)
    italian: dict[str, dict[str, str]] = {}
    for cap, places in provider("address", "it_IT").cap_city_province.items():
        for town, province in places:
            italian.setdefault(province, {}).setdefault(_town(town), cap)
    for line in lines("provinces_it.txt"):
        short, region, name = line.split("|")
        listed_caps = italian.get(short, {})
        cities = {name: listed_caps.get(name) or next(iter(listed_caps.values()), "00100")}
        cities |= {town: cap for town, cap in listed_caps.items() if town not in cities}
        out[f"it:{short}"] = Area(f"it:{short}", "it", short, [name], [region], cities)
    return out


def _list(text: str) -> list[str]:
    return [name.strip() for name in text.split(";")]


def _town(name: str) -> str:
    """Faker writes "Marana Di Montereale" for "Marana di Montereale"."""
    return re.sub(
        r"\b(Di|Del|Della|Dei|Delle|Degli|In|Al|Sul|Sulla|D')(?=\s)", lambda found: found.group(0).lower(), name
    )


@cache
def of_country(country: str) -> list[Area]:
    """The areas of a country (es, it, us, gb)."""
    return [area for area in areas().values() if area.country == country]


@cache
def _index() -> dict[str, list[tuple[str, str]]]:
    """For each folded name, what it names: (type, area's key)."""
    out: dict[str, list[tuple[str, str]]] = {}
    for area in areas().values():
        for kind, names in ((CITY, area.cities), (PROVINCE, area.names), (REGION, area.regions)):
            for name in names:
                found = (kind, area.key)
                entries = out.setdefault(folded(name), [])
                if found not in entries:
                    entries.append(found)
    return out


@cache
def _first_words() -> frozenset[str]:
    return frozenset(name.split()[0] for name in _index())


LONGEST: Final = 6  # words of a place's name


def named(words: Sequence[str], at: int, country: str) -> tuple[int, str]:
    """The longest name of a place that starts at a folded word: how many words it has, and its type; (0, "") if none.

    Only places of the country count, so that a word isn't read as a village of another one.
    """
    if words[at].split()[0] not in _first_words():
        return 0, ""
    index = _index()
    for length in range(min(LONGEST, len(words) - at), 0, -1):
        found = [entry for entry in index.get(" ".join(words[at : at + length]), ()) if _in(entry[1], country)]
        if found:
            kinds = {kind for kind, _ in found}
            return length, CITY if CITY in kinds else PROVINCE if PROVINCE in kinds else REGION
    return 0, ""


def _in(key: str, country: str) -> bool:
    return key[:2] == country or (country in ("us", "gb") and key[:2] in ("us", "gb"))


@lru_cache(maxsize=1 << 12)
def areas_in(text: str, country: str) -> frozenset[str]:
    """The areas that a text names: by its cities, provinces or regions, and by its ZIP codes."""
    found: set[str] = set()
    words = [folded(word) for word in re.findall(r"[^\W\d_]+", text)]
    at = 0
    while at < len(words):
        length, _ = named(words, at, country) if words[at] else (0, "")
        if length:
            found |= {key for _, key in _index()[" ".join(words[at : at + length])] if _in(key, country)}
        at += max(1, length)
    found |= {f"{country}:{short}" for short in re.findall(r"\b[A-Z]{2}\b", text)} & areas().keys()
    for area_country in ("us", "gb") if country in ("us", "gb") else (country,):
        for match in ZIP[area_country].finditer(text):
            found |= _by_zip(area_country, match.group(1).upper())
    return frozenset(found)


@cache
def _zips(country: str) -> dict[str, frozenset[str]]:
    out: dict[str, set[str]] = {}
    for area in of_country(country):
        for start in area.cities.values():
            for length in range(2, 6):
                out.setdefault(start[:length], set()).add(area.key)
    return {start: frozenset(keys) for start, keys in out.items()}


def _by_zip(country: str, code: str) -> frozenset[str]:
    if country == "gb":
        return _zips("gb").get(code, frozenset())
    if country == "es":
        return _zips("es").get(code[:2], frozenset())
    zips = _zips(country)
    return next((zips[code[:n]] for n in (5, 4, 3) if code[:n] in zips), frozenset())


def capital(area: Area) -> str:
    """The capital of an area: the data list it first."""
    return next(iter(area.cities))


def zip_in(rng: random.Random, area: Area, city: str, like: str) -> str:
    """A ZIP code of the city (or of the area) in the format of `like`."""
    start = area.cities.get(city) or rng.choice(list(area.cities.values()))
    if area.country == "gb":
        letters = "ABDEFGHJLNPQRSTUWXYZ"
        gap = " " if " " in like or not like else ""
        code = f"{start}{rng.randint(1, 25)}{gap}{rng.randint(0, 9)}{rng.choice(letters)}{rng.choice(letters)}"
        return code.lower() if like.islower() else code
    if area.country == "es" and len(start) == 2:
        start += rng.choice("123456789")
    if area.country == "es" and (found := re.search(r"\d{5}", like)):  # capitals have 0 in the third place
        start = start[:2] + (
            "0" if found.group(0)[2] == "0" else start[2] if start[2] != "0" else rng.choice("123456789")
        )
    digits = start + "".join(rng.choice(string.digits) for _ in range(5 - len(start)))
    if area.country == "it" and start.endswith("100"):
        digits = start
    if "-" in like and area.country == "us":
        digits += "-" + "".join(rng.choice(string.digits) for _ in range(4))
    return digits


@cache
def towns(country: str) -> Chain:
    """Makes up names of towns of a country."""
    words = [town for area in of_country(country) for town in area.cities if " " not in town and town.isalpha()]
    return Chain(words)
