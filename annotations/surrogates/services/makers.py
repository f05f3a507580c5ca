"""Who makes surrogates: the rules of domain.surrogates, or a language model that models_runtime offers."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.domain.surrogates.pipeline import Around, Cluster, Indexed, Mentioned, Surrogate
from annotations.domain.surrogates.rules import RuleClusterer, RuleDecider, RuleGenerator
from annotations.models import Project

Params = Mapping[str, Any]
"""What a release stores of its maker: empty for the rules."""


@dataclass(frozen=True, slots=True)
class PatientMentions:
    """All mentions of one patient's notes. `language` is that of most of the notes."""

    mentions: Sequence[Mentioned]
    language: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """A new surrogate to make: see domain.surrogates.pipeline.Generator."""

    cluster: Cluster
    around: Around
    avoid: Collection[str]
    attempt: int


class Maker(Protocol):
    """The steps of domain.surrogates.pipeline for many patients at a time. Nothing of one patient reaches another."""

    def cluster(self, patients: Sequence[PatientMentions]) -> list[list[Cluster]]:
        """The clusters of each patient, in order."""

    def names(self, clusters: Sequence[Cluster]) -> list[list[str]]:
        """Further names by which the index may know each entity."""

    def decide(self, asked: Sequence[tuple[Cluster, Sequence[Indexed]]]) -> list[Indexed | None]:
        """The entity of the index that each cluster is, or None."""

    def generate(self, wanted: Sequence[Wanted]) -> list[Surrogate]:
        """A surrogate for each."""


class RulesMaker:
    """The offline default."""

    def __init__(self) -> None:
        self._clusterer, self._decider, self._generator = RuleClusterer(), RuleDecider(), RuleGenerator()

    def cluster(self, patients: Sequence[PatientMentions]) -> list[list[Cluster]]:
        return [self._clusterer.cluster(one.mentions, one.language) for one in patients]

    def names(self, clusters: Sequence[Cluster]) -> list[list[str]]:
        return [[] for _cluster in clusters]

    def decide(self, asked: Sequence[tuple[Cluster, Sequence[Indexed]]]) -> list[Indexed | None]:
        return [self._decider.decide(cluster, found) for cluster, found in asked]

    def generate(self, wanted: Sequence[Wanted]) -> list[Surrogate]:
        return [self._generator.generate(one.cluster, one.around, one.avoid, one.attempt) for one in wanted]


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


MAKERS: Final[dict[str, MakerKind]] = {}
"""Makers besides the rules, by the value of `kind` in stored parameters. Features register in AppConfig.ready()."""
KIND: Final = "kind"


def maker_choices() -> list[MakerChoice]:
    """What can make surrogates here, beside the rules."""
    return [choice for kind in MAKERS.values() for choice in kind.choices()]


def checked_maker(project: Project, value: str, *, may_leave: bool) -> dict[str, Any]:
    """Return the parameters of the chosen maker, for Release.surrogate_maker; empty for the rules.

    Raises ServiceError `maker` for an unknown choice, and `leaves` if text would leave this machine without consent.
    """
    if not value:
        return {}
    for name, kind in MAKERS.items():
        if any(choice.value == value for choice in kind.choices()):
            return {KIND: name} | kind.checked(project, value, may_leave)
    choices = ", ".join(choice.value for choice in maker_choices()) or _("none")
    raise ServiceError(
        _("“%(value)s” can't make surrogates here. Choose one of: %(choices)s. Without a choice, rules make them.")
        % {"value": value[:80], "choices": choices},
        code="maker",
    )


def maker_of(project: Project, params: Params) -> Maker:
    """Return the maker with these stored parameters. Raises ServiceError `maker` if it is no longer offered."""
    return _kind_of(params).make(project, params) if params else RulesMaker()


def queue_of(params: Params) -> str:
    """The queue whose workers can use the maker; empty for any."""
    return _kind_of(params).queue if params else ""


def _kind_of(params: Params) -> MakerKind:
    kind = MAKERS.get(str(params.get(KIND)))
    if kind is None:
        raise ServiceError(
            _("The language model that makes this release's surrogates is no longer offered. Start a new release."),
            code="maker",
        )
    return kind
