"""Who makes surrogates: the rules of rules.surrogates, or a language model that a higher feature offers."""

import random
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from django.utils.translation import gettext as _

from annotations.core.hooks import surrogate_makers
from annotations.core.sealing import Key, project_key
from annotations.core.services import ServiceError
from annotations.models import Project, Release
from annotations.release.rules.surrogates.clustering import clusters_of, identities, same_entity
from annotations.release.rules.surrogates.generating import generate
from annotations.release.rules.surrogates.pipeline import Around, Cluster, IndexedEntity, Surrogate
from annotations.release.services.surrogates.patients import Patient

Params = Mapping[str, Any]
"""What a release stores of its maker: empty for the rules."""


@dataclass(slots=True)
class Draft:
    """A new entity that needs a surrogate.

    `avoid`: folded texts that the surrogate must not be or contain. `attempt` counts from 0 the surrogates that could
    not be used, which are in `refused`. `scope` is empty for an entity that patients share.
    """

    cluster: Cluster
    scope: str
    avoid: Container[str]
    attempt: int = 0
    refused: list[Surrogate] = field(default_factory=list)


@dataclass(slots=True)
class PatientDrafts:
    """The new entities of one patient, in the order in which they must be made.

    `own` and `shared` have their surrogates already: the patient's entities, and those that patients share. `days` is
    the patient's secret offset of dates, 0 if unknown.
    """

    drafts: Sequence[Draft]
    own: Sequence[IndexedEntity] = ()
    shared: Sequence[IndexedEntity] = ()
    days: int = 0


class Maker(Protocol):
    """The steps of rules.surrogates.pipeline for many patients at a time. Nothing of one patient reaches another."""

    def cluster(self, patients: Sequence[Patient]) -> list[list[Cluster]]:
        """The clusters of each patient, in order."""

    def names(self, patients: Sequence[Sequence[Cluster]]) -> list[list[list[str]]]:
        """Further names by which the index may know each entity of each patient."""

    def decide(self, asked: Sequence[tuple[Cluster, Sequence[IndexedEntity]]]) -> list[IndexedEntity | None]:
        """The entity of the index that each cluster is, or None."""

    def generate(self, patients: Sequence[PatientDrafts]) -> list[list[Surrogate]]:
        """A surrogate for each draft of each patient. The same drafts must give the same surrogates."""


class RulesMaker:
    """The offline default. All chance comes from the project's key, so that the same entity gets the same surrogate."""

    def __init__(self, key: Key) -> None:
        self._key = key

    def cluster(self, patients: Sequence[Patient]) -> list[list[Cluster]]:
        return [clusters_of(one.mentions, one.language) for one in patients]

    def names(self, patients: Sequence[Sequence[Cluster]]) -> list[list[list[str]]]:
        return [[[] for _cluster in clusters] for clusters in patients]

    def decide(self, asked: Sequence[tuple[Cluster, Sequence[IndexedEntity]]]) -> list[IndexedEntity | None]:
        return [same_entity(cluster, found) for cluster, found in asked]

    def generate(self, patients: Sequence[PatientDrafts]) -> list[list[Surrogate]]:
        return [in_turn(one, self.make) for one in patients]

    def make(self, draft: Draft, around: Around) -> Surrogate:
        """A surrogate for one draft, which depends on the key, the entity and the attempt."""
        source = generator_source(self._key, draft.cluster, draft.scope, draft.attempt)
        return generate(source, draft.cluster, around, draft.avoid, draft.attempt)


def generator_source(key: Key, cluster: Cluster, scope: str, attempt: int) -> random.Random:
    """The chance for a surrogate of an entity: secret, and the same for every worker."""
    names = identities(cluster)[:1] or list(cluster.forms[:1])
    seed = key.digest("surrogate source", cluster.kind, scope, str(attempt), *names)
    return random.Random(seed)  # noqa: S311  # the seed is the secret


def in_turn(patient: PatientDrafts, make: Callable[[Draft, Around], Surrogate]) -> list[Surrogate]:
    """Make a patient's surrogates in order. Each agrees with those before; a shared entity's only with shared ones."""
    shared = list(patient.shared)
    related = [*patient.own, *shared]
    made = []
    for draft in patient.drafts:
        surrogate = make(draft, Around(related if draft.scope else shared, patient.days))
        made.append(surrogate)
        cluster = draft.cluster
        known = IndexedEntity(0, cluster.kind, cluster.forms, surrogate, own=True)
        related.append(known)
        if not draft.scope:
            shared.append(known)
    return made


@dataclass(frozen=True)
class MakerChoice:
    """A maker that a release can choose. `host`: the machine to which text of notes would be sent; empty for none."""

    value: str
    title: str
    host: str = ""


@dataclass(frozen=True)
class MakerKind:
    """A kind of makers that a higher feature offers.

    `choices` lists what can be chosen. `checked(project, value, may_leave)` returns the parameters to store, without
    secrets, or raises ServiceError `maker` or `leaves`. `make(project, params)` makes the maker in a worker.
    `queue` is the queue whose workers can do it.
    """

    choices: Callable[[], list[MakerChoice]]
    checked: Callable[[Project, str, bool], dict[str, Any]]
    make: Callable[[Project, Params], Maker]
    queue: str


KIND: Final = "kind"
PAYER: Final = "release"
"""The parameter with the id of the release for which a maker works; without it, the project pays."""


def maker_kinds() -> dict[str, MakerKind]:
    """Makers besides the rules, by the value of `kind` in stored parameters."""
    return dict(surrogate_makers())


def maker_choices() -> list[MakerChoice]:
    """What can make surrogates here, beside the rules."""
    return [choice for kind in maker_kinds().values() for choice in kind.choices()]


def checked_maker(project: Project, value: str, *, may_leave: bool) -> dict[str, Any]:
    """Return the parameters of the chosen maker, for Release.surrogate_maker; empty for the rules.

    Raises ServiceError `maker` for an unknown choice, and `leaves` if text would leave this machine without consent.
    """
    if not value:
        return {}
    for name, kind in maker_kinds().items():
        if any(choice.value == value for choice in kind.choices()):
            return {KIND: name} | kind.checked(project, value, may_leave)
    choices = ", ".join(choice.value for choice in maker_choices()) or _("none")
    message = _(
        "“%(value)s” can't make surrogates here. Choose one of: %(choices)s. Without a choice, rules make them."
    )
    raise ServiceError(message % {"value": value[:80], "choices": choices}, code="maker")


def paid_by(release: Release) -> Params:
    """The parameters of the maker that works for a release; empty for the rules."""
    return {**release.surrogate_maker, PAYER: release.pk} if release.surrogate_maker else {}


def maker_of(project: Project, params: Params) -> Maker:
    """Return the maker with these stored parameters. Raises ServiceError `maker` if it is no longer offered."""
    return _kind_of(params).make(project, params) if params else RulesMaker(project_key(project))


def queue_of(params: Params) -> str:
    """The queue whose workers can use the maker; empty for any."""
    return _kind_of(params).queue if params else ""


def _kind_of(params: Params) -> MakerKind:
    kind = maker_kinds().get(str(params.get(KIND)))
    if kind is None:
        raise ServiceError(
            _("The language model that makes this release's surrogates is no longer offered. Start a new release."),
            code="maker",
        )
    return kind
