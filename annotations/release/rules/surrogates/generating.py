"""Make surrogates by rules: names, places, institutions, numbers and addresses in the style of what they replace."""

import random
import re
import string
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Final

from annotations.release.rules.redaction.policy import PEOPLE
from annotations.release.rules.surrogates.clustering import NUMBERS, person_of, without_caption
from annotations.release.rules.surrogates.folding import digits, folded, plain, scrambled_digits
from annotations.release.rules.surrogates.identifiers import example_domain, new_ip, new_number, new_phone
from annotations.release.rules.surrogates.new_words import TRIES, SurrogateDraft, new_template
from annotations.release.rules.surrogates.people import NamedPerson, fullest, read_person
from annotations.release.rules.surrogates.pipeline import Around, Cluster, Surrogate
from annotations.release.rules.surrogates.writing import TEMPLATES, part_name
from annotations.text.identifiers import IdentifierType as Kind
from annotations.text.spans import replaced

# New user names, e-mail addresses and web addresses, with the surrogates of the names that they contain.


def new_account(words: SurrogateDraft, local: str) -> str:
    """The local part of an e-mail address, or a user name: with the surrogate of the name that it contains."""
    new = _named_account(words, local)
    if new:
        return new + (str(words.rng.randint(2, 99)) if words.attempt else "")

    def other(piece: re.Match[str]) -> str:
        return scrambled_digits(words.rng, piece[0]) if piece[0].isdigit() else _spelled(words, piece[0])

    return re.sub(r"[^\W\d_]+|\d+", other, local)


def _spelled(words: SurrogateDraft, piece: str) -> str:
    """Letters in place of letters: a name about as long, or random letters for up to three."""
    if len(piece) <= 3:
        return "".join(words.rng.choice(string.ascii_lowercase) for _ in piece)
    key = folded(piece)
    if key in words.lists.given:
        word = words.given(key, words.lists.given[key].gender)
    elif key in words.lists.surnames:
        word = words.surname(key)
    else:
        word = words.coin("surname", piece)
    word = folded(word).replace(" ", "")
    return word.upper() if piece.isupper() else word


def _named_account(words: SurrogateDraft, local: str) -> str:
    """The account with each name of a related person replaced by the surrogate's; empty if it has none."""
    flat = plain(local).casefold()
    found = (_names_in(flat, person, parts) for person, parts in _people(words))
    best = max(found, key=lambda names: sum(end - start for start, end, _ in names), default=[])
    if not best:
        return ""
    covered = {at for start, end, _ in best for at in range(start, end)}
    signs = {True: string.digits, False: string.ascii_lowercase}
    others = [
        (at, at + 1, words.rng.choice(signs[sign.isdigit()]))
        for at, sign in enumerate(local)
        if sign.isalnum() and at not in covered
    ]
    return replaced(local, sorted(best + others))


def _people(words: SurrogateDraft) -> Iterator[tuple[NamedPerson, Mapping[str, str]]]:
    """The related people: the full name of each, and the parts of the surrogate."""
    for entity in words.around.related:
        if entity.kind in PEOPLE:
            yield fullest(read_person(form, words.cluster.language) for form in entity.forms), entity.surrogate.parts


def new_url(words: SurrogateDraft, text: str) -> str:
    found = re.match(r"(\w+://)?(www\.)?([^/?#\s]+)(.*)", text, re.DOTALL)
    if not found:
        return "www.example.org"
    scheme, www, host, rest = found.groups()
    path = re.sub(r"[^\W\d_]{4,}|\d+", lambda piece: _path(words, piece.group(0)), rest)
    return f"{scheme or ''}{www or ''}{example_domain(host)}{path}"


def _path(words: SurrogateDraft, piece: str) -> str:
    if piece.isdigit():
        return scrambled_digits(words.rng, piece)
    if piece.casefold() in ("html", "index", "aspx", "home", "https", "http"):
        return piece
    return folded(words.coin("surname", piece))


def _names_in(flat: str, person: NamedPerson, parts: Mapping[str, str]) -> list[tuple[int, int, str]]:
    """Where an account has names of a person, or initials right before one: (start, end, new text), in order."""

    def named(role: str, own: Sequence[str]) -> list[tuple[str, str]]:
        return [(word, plain(parts.get(part_name(role, at), " ")).casefold()) for at, word in enumerate(own)]

    given, family = named("given", person.given), named("family", person.family)
    found: list[tuple[int, int, str]] = []
    for word, written in family + given:
        new = written.replace(" ", "")
        for length in range(len(word), 2, -1) if new else ():
            at = flat.find(word[:length])
            if at >= 0 and not any(start < at + length and at < end for start, end, _ in found):
                found.append((at, at + length, new if length == len(word) else new[:length]))
                break
    letters = {word[0]: written[0] for word, written in given + family if found}
    covered = {at for start, end, _ in found for at in range(start, end)}
    return found + [
        (at, at + 1, letters[letter])
        for at, letter in enumerate(flat)
        if at not in covered
        and letters.get(letter, "").isalpha()
        and (not at or not covered.isdisjoint((at - 1, at + 1)) or not flat[at - 1].isalpha())
    ]


# New values that are one text: numbers, codes, telephone numbers, addresses and ages.


def new_value(words: SurrogateDraft, kind: Kind, text: str) -> str:
    """Another value of a kind in the format of the text."""
    rng = words.rng
    match kind:
        case Kind.PHONE | Kind.FAX:
            return new_phone(rng, text, words.language)
        case Kind.EMAIL:
            local, at, domain = text.strip().partition("@")
            return new_account(words, local) + (f"@{example_domain(domain)}" if at else "")
        case Kind.USERNAME:
            return new_account(words, text.strip())
        case Kind.URL:
            return new_url(words, text.strip())
        case Kind.IP:
            return new_ip(rng, text.strip())
        case Kind.AGE:
            return re.sub(r"\d{1,9}", lambda age: str(max(0, int(age[0]) + rng.choice((-2, -1, 1, 2)))), text)
    people = (one.surrogate.parts for one in words.around.related if one.kind == Kind.NAME)
    owner, loose = next(people, {}), words.attempt > 5
    new = new_number(rng, text, kind=kind, language=words.language, owner=owner, days=words.around.days, loose=loose)
    # After so many tries there are too few numbers this short.
    return new + digits(rng, words.attempt // 20) if words.attempt > 20 else new


# New names of people.


def new_person(words: SurrogateDraft) -> dict[str, str]:
    person = person_of(words.cluster)
    gender = person.gender
    forms = words.cluster.forms
    texts = {
        folded(word): word for form in reversed(forms) for word in re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)*", form)
    }
    shared, others = _relatives(words, person)
    letters = {word[0] for word in (*person.given, *person.family) if word}
    initials = any(len(word) == 1 for word in (*person.given, *person.family)) or any(
        re.search(r"\b[^\W\d_]\.", form) for form in forms
    )
    for _ in range(TRIES):
        words.used = set(others)
        parts: dict[str, str] = {}
        for index, key in enumerate(person.given or ("",)):
            parts[part_name("given", index)] = words.given(key, gender, texts.get(key, ""))
        for index, key in enumerate(person.family or ("",)):
            parts[part_name("family", index)] = shared.get(key) or words.surname(key, texts.get(key, ""))
        name = folded(" ".join(parts.values()))
        if initials and {folded(word)[0] for word in parts.values()} & letters:
            continue
        if name not in words.avoid:
            break
    if gender:
        parts["gender"] = gender
    return parts


def _relatives(words: SurrogateDraft, person: NamedPerson) -> tuple[dict[str, str], set[str]]:
    """Surrogates of the surnames that this person shares with others of the patient, and the others' names."""
    shared: dict[str, str] = {}
    others: set[str] = set()
    for theirs, parts in _people(words):
        alone = theirs.given + theirs.family
        for index, word in enumerate(alone if len(alone) == 1 else theirs.family):
            new = parts.get(part_name("family", index))
            if new and len(word) > 1 and word in person.family and folded(new) not in words.avoid:
                shared[word] = new
        others |= {folded(text) for name, text in parts.items() if name != "gender"}
    return shared, others


ORDER: Final = (
    *(Kind.NAME, Kind.STAFF, Kind.COUNTRY, Kind.REGION, Kind.CITY, Kind.LOCATION),
    *(Kind.ZIP, Kind.STREET, Kind.HOSPITAL, Kind.ORGANIZATION),
)
"""Kinds in the order in which surrogates must be made, so that later ones can agree with earlier ones."""
_RANK: Final = {kind: at for at, kind in enumerate(ORDER)}


def in_order(clusters: Sequence[Cluster]) -> list[Cluster]:
    """The clusters of a patient in the order in which their surrogates must be made."""
    return sorted(clusters, key=order)


def order(cluster: Cluster) -> tuple[int, bool]:
    """The sort key of `in_order`: people before places before all else, and cities before their ZIP codes."""
    return _RANK.get(cluster.kind, len(_RANK)), not any(letter.isalpha() for letter in cluster.forms[0])


def generate(
    rng: random.Random, cluster: Cluster, around: Around, avoid: Container[str], attempt: int = 0
) -> Surrogate:
    """A new surrogate, from lists and ranges. All randomness comes from `rng`, which the caller seeds.

    A word that the lists know is replaced by one of the lists with the same gender, about the same frequency, and an
    accent if it has one; a word that they don't know by a made-up one that they don't know either. So neither style nor
    the lists tell a surrogate from an original that was missed. `avoid`: folded texts that the surrogate must not be or
    contain, with a fast `in`. `attempt` counts collisions from 0.
    """
    return Surrogate(cluster.kind, _parts(SurrogateDraft(rng, cluster, around, avoid, attempt)))


def _parts(words: SurrogateDraft) -> dict[str, str]:
    kind = words.cluster.kind
    if kind in PEOPLE:
        return new_person(words)
    if kind in TEMPLATES:
        return new_template(words)
    text = words.cluster.forms[0]
    if kind in NUMBERS:
        text = without_caption(text)
    return {"value": words.unlike(text, lambda: new_value(words, kind, text))}
