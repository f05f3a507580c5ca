"""Make surrogates by rules: names, places, institutions, numbers and addresses in the style of what they replace."""

import random
import re
import string
from collections.abc import Container, Mapping, Sequence
from typing import Final

from annotations.release.rules.redaction.policy import PEOPLE, IdentifierType
from annotations.release.rules.surrogates.clustering import NUMBERS, person_of, without_caption
from annotations.release.rules.surrogates.contacts import example_domain, new_ip, new_phone
from annotations.release.rules.surrogates.folding import digits, folded, plain, scrambled_digits
from annotations.release.rules.surrogates.identifiers import new_number
from annotations.release.rules.surrogates.new_words import TRIES, SurrogateDraft, new_template
from annotations.release.rules.surrogates.people import NamedPerson, fullest, read_person
from annotations.release.rules.surrogates.pipeline import Around, Cluster, Surrogate
from annotations.release.rules.surrogates.writing import TEMPLATES, part_name

# New user names, e-mail addresses and web addresses, with the surrogates of the names that they contain.


def new_account(words: SurrogateDraft, local: str) -> str:
    """The local part of an e-mail address, or a user name: with the surrogate of the name that it contains."""
    new = _named_account(words, local)
    if new:
        return new + (str(words.rng.randint(2, 99)) if words.attempt else "")
    out = []
    for piece in re.findall(r"[^\W\d_]+|\d+|[\W_]", local):
        if piece.isdigit():
            out.append(scrambled_digits(words.rng, piece))
        elif piece.isalpha():
            out.append(_spelled(words, piece))
        else:
            out.append(piece)
    return "".join(out)


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
    best: list[tuple[int, int, str]] = []
    for entity in words.around.related:
        if entity.kind not in PEOPLE:
            continue
        person = fullest(read_person(form, words.cluster.language) for form in entity.forms)
        found = _names_in(flat, person, entity.surrogate.parts)
        if sum(end - start for start, end, _ in found) > sum(end - start for start, end, _ in best):
            best = found
    if not best:
        return ""
    out, at = [], 0
    for start, end, new in best:
        out += [_filler(words, local[at:start]), new]
        at = end
    out.append(_filler(words, local[at:]))
    return "".join(out)


def _filler(words: SurrogateDraft, text: str) -> str:
    signs = {True: string.digits, False: string.ascii_lowercase}
    return re.sub(r"[^\W_]", lambda found: words.rng.choice(signs[found[0].isdigit()]), text)


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
        word[0]: plain(parts.get(part_name(role, at), " ")).casefold()[0]
        for role, words in (("given", person.given), ("family", person.family))
        for at, word in enumerate(words)
    }
    covered = {at for start, end, _ in found for at in range(start, end)}
    for at, letter in enumerate(flat):
        if at not in covered and letter in letters and letters[letter].isalpha():
            near = (at + 1 in covered or at - 1 in covered or not flat[at - 1 : at].isalpha()) if at else True
            if near:
                initials.append((at, at + 1, letters[letter]))
    return sorted(found + initials)


# New values that are one text: numbers, codes, telephone numbers, addresses and ages.


def new_value(words: SurrogateDraft, kind: IdentifierType, text: str) -> str:
    """Another value of a kind in the format of the text."""
    if kind in (IdentifierType.PHONE, IdentifierType.FAX):
        return new_phone(words.rng, text, words.language)
    if kind == IdentifierType.EMAIL:
        local, at, domain = text.strip().partition("@")
        if not at:
            return new_account(words, local)
        return f"{new_account(words, local)}@{example_domain(domain)}"
    if kind == IdentifierType.USERNAME:
        return new_account(words, text.strip())
    if kind == IdentifierType.URL:
        return new_url(words, text.strip())
    if kind == IdentifierType.IP:
        return new_ip(words.rng, text.strip())
    if kind == IdentifierType.AGE:
        return re.sub(
            r"\d{1,9}", lambda found: str(max(0, int(found.group(0)) + words.rng.choice((-2, -1, 1, 2)))), text
        )
    new = new_number(
        words.rng,
        text,
        kind=str(kind),
        language=words.language,
        person=_owner(words),
        days=words.around.days,
        loose=words.attempt > 5,
    )
    if words.attempt > 20:  # there are too few numbers this short
        new += digits(words.rng, words.attempt // 20)
    return new


def _owner(words: SurrogateDraft) -> tuple[str, str, str] | None:
    """The surrogate of the patient's name, for codes that contain it: given names, surnames, gender."""
    for entity in words.around.related:
        if entity.kind == IdentifierType.NAME:
            parts = entity.surrogate.parts
            return parts.get("given", ""), parts.get("family", ""), parts.get("gender", "")
    return None


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
        for index in range(max(1, len(person.given))):
            key = person.given[index] if index < len(person.given) else ""
            parts[part_name("given", index)] = words.given(key, gender, texts.get(key, ""))
        for index in range(max(1, len(person.family))):
            key = person.family[index] if index < len(person.family) else ""
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
    for entity in words.around.related:
        if entity.kind not in PEOPLE:
            continue
        theirs = fullest(read_person(form, words.cluster.language) for form in entity.forms)
        alone = theirs.given + theirs.family
        for index, word in enumerate(alone if len(alone) == 1 else theirs.family):
            new = entity.surrogate.parts.get(part_name("family", index))
            if new and len(word) > 1 and word in person.family and folded(new) not in words.avoid:
                shared[word] = new
        others |= {folded(text) for name, text in entity.surrogate.parts.items() if name != "gender"}
    return shared, others


ORDER: Final = (
    IdentifierType.NAME,
    IdentifierType.STAFF,
    IdentifierType.COUNTRY,
    IdentifierType.REGION,
    IdentifierType.CITY,
    IdentifierType.LOCATION,
    IdentifierType.ZIP,
    IdentifierType.STREET,
    IdentifierType.HOSPITAL,
    IdentifierType.ORGANIZATION,
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
