"""New names of people."""

import re

from annotations.release.rules.surrogates.clustering import PEOPLE
from annotations.release.rules.surrogates.deciding import person_of
from annotations.release.rules.surrogates.folding import folded
from annotations.release.rules.surrogates.generating.words import TRIES, Words
from annotations.release.rules.surrogates.people import Person, fullest, read_person
from annotations.release.rules.surrogates.writing import part_name


def new_person(words: Words) -> dict[str, str]:
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


def _relatives(words: Words, person: Person) -> tuple[dict[str, str], set[str]]:
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
