"""Which entity of the project's index a cluster is, by rules."""

from collections.abc import Sequence
from typing import Final

from annotations.release.rules.redaction.kinds import IdentifierType
from annotations.release.rules.surrogates.clustering import INSTITUTIONS, PEOPLE, equality_key, readings, same_person
from annotations.release.rules.surrogates.folding import folded
from annotations.release.rules.surrogates.people import NamedPerson, fullest, read_person
from annotations.release.rules.surrogates.pipeline import SHARED, Cluster, Indexed, Surrogate
from annotations.release.rules.surrogates.templates import distinctive

_HIDDEN: Final = frozenset({"gender", "area"})


def person_of(cluster: Cluster) -> NamedPerson:
    """The full name of a cluster of people."""
    return fullest(readings(cluster.mentions, cluster.language))


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
    if cluster.kind in INSTITUTIONS:
        keys = [key for form in cluster.forms for key in (folded(form), distinctive(form, cluster.language))]
        return list(dict.fromkeys(key for key in keys if key))
    return list(dict.fromkeys(equality_key(cluster.kind, form) for form in cluster.forms))


def surrogate_key(surrogate: Surrogate) -> str:
    """The folded surrogate: no two entities of a project may share it. People are compared by their full names."""
    if "value" in surrogate.parts:
        return equality_key(surrogate.kind, surrogate.parts["value"])
    names = sorted((name for name in surrogate.parts if name not in _HIDDEN), key=lambda name: (name[0] != "g", name))
    return folded(" ".join(surrogate.parts[name] for name in names))  # given names before surnames


class RuleDecider:
    """Takes an entity of the index if the names are the same.

    A full name is the same person in the whole project. A surname, a given name or initials alone are the same person
    only in one patient's notes, and only if gender and given names agree. Other kinds must have an equal folded form.
    """

    def decide(self, cluster: Cluster, found: Sequence[Indexed]) -> Indexed | None:
        """The first entity that fits; None if there is none. `found` must be of the patient, or of kinds in SHARED."""
        if cluster.kind not in PEOPLE:
            own = set(identities(cluster))
            return next(
                (
                    entity
                    for entity in found
                    if entity.kind == cluster.kind
                    and own & set(identities_of_forms(entity.kind, entity.forms, cluster.language))
                ),
                None,
            )
        person = person_of(cluster)
        fitting = [entity for entity in found if entity.kind in PEOPLE and _fits(person, cluster, entity)]
        return fitting[0] if fitting else None


def identities_of_forms(kind: IdentifierType, forms: Sequence[str], language: str) -> list[str]:
    """The folded keys of an entity's forms (not of people)."""
    keys = [equality_key(kind, form) for form in forms]
    if kind in INSTITUTIONS:
        keys += [key for form in forms if (key := distinctive(form, language))]
    return keys


def _fits(person: NamedPerson, cluster: Cluster, entity: Indexed) -> bool:
    names = readings(cluster.mentions, cluster.language)  # a form's fields count
    here = {mention.text: name for mention, name in zip(cluster.mentions, names, strict=True)}
    theirs = fullest(here.get(form) or read_person(form, cluster.language) for form in entity.forms)
    gender = entity.surrogate.parts.get("gender", "")
    if person.gender and gender and gender != person.gender:
        return False
    if not same_person(person, theirs):
        return False
    whole = bool(person.given and person.family and theirs.given and theirs.family)
    if whole and len(person.given[0]) > 1 and len(theirs.given[0]) > 1:
        return True
    return cluster.kind == entity.kind and (entity.own or entity.kind not in SHARED)
