"""Mentions in small notes, and the whole pipeline with an index in memory."""

import random
import re
from collections.abc import Iterable, Sequence

from annotations.release.rules.redaction.policy import IdentifierType as Kind
from annotations.release.rules.surrogates.clustering import clusters_of
from annotations.release.rules.surrogates.generating import generate, in_order
from annotations.release.rules.surrogates.pipeline import Around, Cluster, IndexedEntity, MentionInNote, Surrogate
from annotations.release.rules.surrogates.writing import Writer

_MARK = re.compile(r"\[([a-z ]+):([^\]]+)\]")


def marked(text: str, note: int = 1) -> list[MentionInNote]:
    """The mentions of a note in which they are marked as "[name:Adam Wilson]"."""
    plain, places, at = "", [], 0
    for found in _MARK.finditer(text):
        plain += text[at : found.start()]
        places.append((len(plain), len(plain) + len(found.group(2)), Kind(found.group(1))))
        plain += found.group(2)
        at = found.end()
    plain += text[at:]
    return [
        MentionInNote(note, at, end, kind, plain[at:end], plain[max(0, at - 40) : at], plain[end : end + 40])
        for at, end, kind in places
    ]


def clusters(*notes: str, language: str = "en") -> list[Cluster]:
    """The clusters of one patient's notes."""
    return clusters_of([one for at, text in enumerate(notes, 1) for one in marked(text, at)], language)


def texts(found: Iterable[Cluster]) -> list[list[str]]:
    """The texts of each cluster."""
    return [[mention.text for mention in cluster.mentions] for cluster in found]


def one(kind: Kind, *forms: str, language: str = "en", before: str = "") -> Cluster:
    """A cluster of these forms."""
    mentions = [MentionInNote(1, at * 100, at * 100 + len(form), kind, form, before) for at, form in enumerate(forms)]
    return Cluster(kind, language, mentions)


def person(given: str, family: str, **more: str) -> Surrogate:
    """A person's surrogate."""
    return Surrogate(Kind.NAME, {"given": given, "family": family, **more})


def form(surrogate: Surrogate, text: str, *others: str, language: str = "en", before: str = "") -> str:
    """A surrogate in the form of a mention, of a cluster with other forms."""
    cluster = one(surrogate.kind, text, *others, language=language, before=before)
    return Writer(surrogate, cluster).write(cluster.mentions[0])


def replaced(text: str, language: str = "en", seed: int = 7, avoid: Sequence[str] = ()) -> list[tuple[str, str]]:
    """The mentions of a note with what is written for them, in order."""
    source = random.Random(seed)
    related: list[IndexedEntity] = []
    out: dict[int, tuple[str, str]] = {}
    for cluster in in_order(clusters(text, language=language)):
        surrogate = generate(source, cluster, Around(related), frozenset(avoid))
        related.append(IndexedEntity(len(related) + 1, cluster.kind, cluster.forms, surrogate))
        writer = Writer(surrogate, cluster)
        out |= {mention.start: (mention.text, writer.write(mention)) for mention in cluster.mentions}
    return [out[start] for start in sorted(out)]
