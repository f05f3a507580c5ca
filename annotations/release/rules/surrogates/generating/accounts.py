"""New user names, e-mail addresses and web addresses, with the surrogates of the names that they contain."""

import re
import string
from collections.abc import Mapping

from annotations.release.rules.surrogates.clustering import PEOPLE
from annotations.release.rules.surrogates.contacts import example_domain
from annotations.release.rules.surrogates.folding import folded, plain
from annotations.release.rules.surrogates.generating.words import Words
from annotations.release.rules.surrogates.people import Person, fullest, read_person
from annotations.release.rules.surrogates.scrambling import scrambled_digits
from annotations.release.rules.surrogates.writing import part_name


def new_account(words: Words, local: str) -> str:
    """The local part of an e-mail address, or a user name: with the surrogate of the name that it contains."""
    new = _named_account(words, local)
    if new:
        return new + (str(words.source.randint(2, 99)) if words.attempt else "")
    out = []
    for piece in re.findall(r"[^\W\d_]+|\d+|[\W_]", local):
        if piece.isdigit():
            out.append(scrambled_digits(words.source, piece))
        elif piece.isalpha():
            out.append(_spelled(words, piece))
        else:
            out.append(piece)
    return "".join(out)


def _spelled(words: Words, piece: str) -> str:
    """Letters in place of letters: a name about as long, or random letters for up to three."""
    if len(piece) <= 3:
        return "".join(words.source.choice(string.ascii_lowercase) for _ in piece)
    key = folded(piece)
    if key in words.lists.given:
        word = words.given(key, words.lists.given[key].gender)
    elif key in words.lists.surnames:
        word = words.surname(key)
    else:
        word = words.coin("surname", piece)
    word = folded(word).replace(" ", "")
    return word.upper() if piece.isupper() else word


def _named_account(words: Words, local: str) -> str:
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


def _filler(words: Words, text: str) -> str:
    return "".join(
        words.source.choice(string.digits)
        if letter.isdigit()
        else words.source.choice(string.ascii_lowercase)
        if letter.isalpha()
        else letter
        for letter in text
    )


def new_url(words: Words, text: str) -> str:
    found = re.match(r"(\w+://)?(www\.)?([^/?#\s]+)(.*)", text, re.DOTALL)
    if not found:
        return "www.example.org"
    scheme, www, host, rest = found.groups()
    path = re.sub(r"[^\W\d_]{4,}|\d+", lambda piece: _path(words, piece.group(0)), rest)
    return f"{scheme or ''}{www or ''}{example_domain(host)}{path}"


def _path(words: Words, piece: str) -> str:
    if piece.isdigit():
        return scrambled_digits(words.source, piece)
    if piece.casefold() in ("html", "index", "aspx", "home", "https", "http"):
        return piece
    return folded(words.coin("surname", piece))


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
