"""The keys by which an entity with given forms is found."""

from collections.abc import Sequence

from annotations.core.sealing import Key
from annotations.domain.redaction.kinds import Kind
from annotations.domain.surrogates.pipeline import Cluster, Mentioned, Surrogate
from annotations.domain.surrogates.rules import identities, written
from annotations.surrogates.selectors.index import REPEATABLE, identity_digest


def known_by(kind: Kind, language: str, forms: Sequence[str]) -> Cluster:
    """An entity of which only its forms are known."""
    return Cluster(kind, language, [Mentioned(0, 0, len(form), kind, form) for form in forms])


def is_name(identity: str) -> bool:
    """Whether a folded name says more than initials."""
    return any(len(word) > 1 for word in identity.split())


def named_as(cluster: Cluster, surrogate: Surrogate) -> list[str]:
    """The folded names of a surrogate, which must not be those of an entity; none for kinds whose values may repeat."""
    if cluster.kind in REPEATABLE or not cluster.mentions:
        return []
    full = max(cluster.mentions, key=lambda one: len(one.text))
    names = identities(known_by(cluster.kind, cluster.language, [written(surrogate, full, cluster)]))
    return [name for name in names if is_name(name)]


def keys_of(key: Key, kind: Kind, language: str, forms: Sequence[str]) -> set[str]:
    """The digests of the names of an entity: of all its forms together, and of each one."""
    if not forms:
        return set()
    names = dict.fromkeys(identities(known_by(kind, language, forms)))
    for form in forms:
        names |= dict.fromkeys(identities(known_by(kind, language, [form])))
    return {identity_digest(key, name) for name in names}
