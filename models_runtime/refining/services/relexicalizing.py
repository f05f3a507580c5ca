"""The language model as a maker of surrogates, as a release chooses it. Rules take every step that it fails."""

from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from annotations.core.bulk import among
from annotations.core.sealing import Key, project_key
from annotations.core.services import ServiceError, hold
from annotations.jobs.registry import load
from annotations.models import Document, Job, Project, Release
from annotations.release.rules.redaction.policy import PEOPLE, IdentifierType
from annotations.release.rules.surrogates.clustering import surrogate_key
from annotations.release.rules.surrogates.folding import LONG, folded, runs
from annotations.release.rules.surrogates.pipeline import Around, Cluster, IndexedEntity, Surrogate
from annotations.release.rules.surrogates.writing import parts_of
from annotations.release.services.surrogates import makers
from annotations.release.services.surrogates.patients import Patient
from models_runtime.backends.base import BackendError
from models_runtime.core.llm import Bill, capacity_of
from models_runtime.models import LlmAnswer
from models_runtime.runs.services.backends import check_consent
from models_runtime.runs.services.llm import servers

# A language model's answers about surrogates, stored so that no question is paid for twice.
#
# They hold names of patients and their surrogates, so they are encrypted with the project's key and found by keyed
# hashes. An answer has a row for each note that its question shows; the first of them holds it.


PREFIX: Final = "s-"
"""Begins the keys of these answers."""
_DIGITS: Final = 60


@dataclass(frozen=True)
class SealedAnswers:
    """Stored answers of one project about some notes (models_runtime.backends.llm.relexicalizing.AnswersAbout).

    Costs go to `bill`.
    """

    project: Project
    key: Key
    bill: Bill
    notes: Collection[int]

    def find(self, key: str) -> list[dict[str, Any]] | None:
        """The answer to the same question about the same notes."""
        rows = LlmAnswer.objects.filter(key=self._digest(key), document=min(self.notes, default=0))
        sealed = rows.values_list("found", flat=True).first()
        return None if sealed is None else self.key.open(b64decode(sealed["sealed"]))

    def keep(self, key: str, text: str, found: list[dict[str, Any]]) -> None:
        """Store an answer. If one of the notes was erased meanwhile, only record the cost."""
        sealed = {"sealed": b64encode(self.key.seal(found)).decode()}
        digest, wanted = self._digest(key), sorted(self.notes)
        with transaction.atomic():
            # The lock keeps the notes from being erased before the answer is stored; an erasure then deletes it.
            hold(self.project.pk)
            present = Document.objects.filter(project=self.project, pk__in=among(wanted)).count()
            if wanted and present == len(wanted):
                rows = [LlmAnswer(document_id=note, key=digest, found={}) for note in wanted]
                rows[0].found = sealed
                LlmAnswer.objects.bulk_create(rows, ignore_conflicts=True)
            self.bill.record()

    def _digest(self, key: str) -> str:
        ids = [str(note) for note in sorted(self.notes)]
        return PREFIX + self.key.hexdigest("surrogate answer", key, *ids)[:_DIGITS]


def forget_answers(*, project: Project, notes: Sequence[int], patient: str) -> None:
    """Delete all answers to questions that show one of these notes. Called in the transaction of the erasure."""
    about = LlmAnswer.objects.filter(document__in=among(notes), key__startswith=PREFIX).order_by()
    keys = set(about.values_list("key", flat=True))
    LlmAnswer.objects.filter(document__project=project, key__in=among(keys)).delete()


MOST_TAKEN: Final = 100
"""Surrogates of a patient that the model is told not to use again."""
T = TypeVar("T")


class ModelMaker:
    """A maker that asks a language model, and uses `rules` for every step without a usable answer."""

    def __init__(self, model: Any, rules: makers.RulesMaker) -> None:
        """`model` is a models_runtime.backends.llm.relexicalizing.Relexicalizer."""
        self._model, self._rules = model, rules
        # Answers about the same drafts, because a plan that must be made again must come out the same.
        self._replaced: dict[tuple[Any, ...], list[str | None] | None] = {}

    def cluster(self, patients: Sequence[Patient]) -> list[list[Cluster]]:
        by_rules = self._rules.cluster(patients)
        found = _asked(lambda: self._model.cluster([(one.mentions, one.language) for one in patients]))
        return [
            rules if groups is None else [Cluster(_kind(group), one.language, tuple(group)) for group in groups]
            for rules, groups, one in zip(by_rules, found, patients, strict=True)
        ]

    def names(self, patients: Sequence[Sequence[Cluster]]) -> list[list[list[str]]]:
        by_rules = self._rules.names(patients)
        found = _asked(lambda: self._model.names(patients))
        return [rules if names is None else names for rules, names in zip(by_rules, found, strict=True)]

    def decide(self, asked: Sequence[tuple[Cluster, Sequence[IndexedEntity]]]) -> list[IndexedEntity | None]:
        """The rules decide where a candidate has the same name; the model decides the rest."""
        decided = self._rules.decide(asked)
        doubtful = [
            at
            for at, (one, (cluster, _found)) in enumerate(zip(decided, asked, strict=True))
            if not _equal(one, cluster)
        ]
        answers = _asked(lambda: self._model.decide([asked[at] for at in doubtful]))
        for at, answer in zip(doubtful, answers, strict=True):
            if answer is not None:
                decided[at] = answer[0]
        return decided

    def generate(self, patients: Sequence[makers.PatientDrafts]) -> list[list[Surrogate]]:
        keys = [_key(one) for one in patients]
        missing = [at for at, key in enumerate(keys) if key not in self._replaced]
        wanted = [([draft.cluster for draft in patients[at].drafts], _taken(patients[at])) for at in missing]
        for at, texts in zip(missing, _asked(lambda: self._model.replace(wanted)), strict=True):
            self._replaced[keys[at]] = texts
        new = {keys[at] for at in missing}
        made = [self._made(one, self._replaced[key], count=key in new) for one, key in zip(patients, keys, strict=True)]
        self._model.meter.record()
        return made

    def _made(
        self, patient: makers.PatientDrafts, texts: Sequence[str | None] | None, *, count: bool
    ) -> list[Surrogate]:
        by_draft = {id(draft): text for draft, text in zip(patient.drafts, texts or (), strict=False)}

        def make(draft: makers.Draft, around: Around) -> Surrogate:
            text = by_draft.get(id(draft))
            parts = None if text is None else parts_of(draft.cluster, text)
            if parts is not None and text is not None:
                made = Surrogate(draft.cluster.kind, parts, self._model.made_by)
                if _acceptable(made, text, draft):
                    return made
            self._model.meter.add(hallucinated=int(count and text is not None))
            return self._rules.make(draft, around)

        return makers.in_turn(patient, make)


def _acceptable(made: Surrogate, text: str, draft: makers.Draft) -> bool:
    """Whether a replacement is not an original, nor one that could not be used before."""
    own = {folded(form) for form in draft.cluster.forms}
    refused = {surrogate_key(one) for one in draft.refused}
    text = folded(text)
    if {surrogate_key(made), text} & (own | refused):
        return False
    return not any(run in draft.avoid and (len(run) >= LONG or run == text) for run in runs(text))


def _equal(decided: IndexedEntity | None, cluster: Cluster) -> bool:
    """Whether the rules found an entity with the same full form, so that no model need be asked."""
    return decided is not None and bool(
        {folded(form) for form in decided.forms} & {folded(form) for form in cluster.forms}
    )


def _kind(group: Sequence[Any]) -> IdentifierType:
    """The kind of a cluster: staff where one of its mentions is."""
    kinds = [one.kind for one in group]
    return IdentifierType.STAFF if kinds[0] in PEOPLE and IdentifierType.STAFF in kinds else IdentifierType(kinds[0])


def _taken(patient: makers.PatientDrafts) -> list[str]:
    known = [surrogate_key(one.surrogate) for one in (*patient.own, *patient.shared)]
    refused = [surrogate_key(one) for draft in patient.drafts for one in draft.refused]
    return list(dict.fromkeys([*refused, *known]))[:MOST_TAKEN]


def _key(patient: makers.PatientDrafts) -> tuple[Any, ...]:
    return tuple((draft.cluster.kind, draft.scope, *draft.cluster.forms, draft.attempt) for draft in patient.drafts)


def _asked(ask: Callable[[], T]) -> T:
    """Ask the model. Raises ServiceError `server` if it can't be used at all."""
    try:
        return ask()
    except BackendError as error:
        raise ServiceError(str(error), code="server") from error


def choices() -> list[makers.MakerChoice]:
    """The models of all listed servers."""
    return [
        makers.MakerChoice(
            f"{server.name}/{model}",
            _("%(model)s on %(server)s") % {"model": model, "server": server.name},
            server.host if server.leaves_machine else "",
        )
        for server in servers()
        for model in server.models
    ]


def checked(project: Project, value: str, may_leave: bool) -> dict[str, Any]:
    """The parameters of a chosen model. Raises ServiceError `leaves` if notes would leave without consent."""
    name, _slash, model = value.partition("/")
    check_consent([settings.LLM_SERVERS[name]], may_leave=may_leave)
    return {"server": name, "model": model}


def make(project: Project, params: makers.Params) -> ModelMaker:
    """Make the maker in a worker, for a release or else for the project. What was answered before is not asked again.

    Raises ServiceError `server` if the server or the model is no longer listed.
    """
    server = settings.LLM_SERVERS.get(str(params.get("server")))
    if server is None or params.get("model") not in server.models:
        message = _("The server or the model that makes surrogates is no longer listed. Start the release again.")
        raise ServiceError(message, code="server")
    payer = Release.objects.filter(project=project, pk=int(params.get(makers.PAYER) or 0)).first()
    key, bill = project_key(project), Bill(payer or project, server.price)
    more = {"capacity": capacity_of(server), "meter": bill, "answers": partial(SealedAnswers, project, key, bill)}
    model = _asked(
        lambda: load("models_runtime.backends.llm.relexicalizing.Relexicalizer")(server, params["model"], **more)
    )
    return ModelMaker(model, makers.RulesMaker(key))


def language_model() -> tuple[str, makers.MakerKind]:
    """The answer to the hook `surrogate_makers`."""
    return "llm", makers.MakerKind(choices=choices, checked=checked, make=make, queue=str(Job.Queue.LLM))
