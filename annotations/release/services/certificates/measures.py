"""Measures of other features that a certificate quotes. What was not measured is None, and nothing is estimated."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from annotations.agreement.rules.units import ComparedUnit, Granularity
from annotations.agreement.services.figures import kept_figures
from annotations.core.authors import IMPORTED
from annotations.core.hooks import UsedModel, models_of
from annotations.models import Author, AuthorKind, NoteMetadata, Project, Release, ReleasedNote, Review
from annotations.release.rules.certificates.canonical import at_least, at_most
from annotations.release.rules.certificates.content import (
    AcceptedLeakRow,
    Agreement,
    AuditorRow,
    AuditPart,
    ModelRow,
    RateRow,
    Recall,
    RunScore,
    Training,
)
from annotations.release.selectors.audits import AuditResult, Rate
from annotations.release.services.certificates.people import name_of
from annotations.scores.rules import Scorer
from annotations.scores.rules.table import TableData
from annotations.scores.rules.tally import Criterion
from annotations.scores.selectors import Reference, authors_with_notes, characters, note_languages, note_pairs
from annotations.scores.services.scoring import ScoredTable, ScoreRequest, kept_score, label_mapper, notes_of, score

# The characters that may be scored while a person waits, about two seconds. Larger scores are quoted if stored.
SCORED_NOW = 400_000


@dataclass(frozen=True)
class Measured:
    """What is gathered before the transaction that signs."""

    agreement: Agreement | None
    scores: list[RunScore]
    models: list[ModelRow]


def measured(release: Release) -> Measured:
    """Gather agreement, scores and models of a release. Scores may be computed and stored, as on their own page."""
    runs = runs_of(release)
    return Measured(agreement_of(release.project), scores_of(release, runs), models_of_runs(runs))


def runs_of(release: Release) -> list[Author]:
    """The runs whose suggestions the release uses: its own author, or those that were reviewed on its notes."""
    kinds = Author.MODELS
    authors = Author.objects.filter(project=release.project, kind__in=kinds)
    if release.author is not None and release.author.kind in kinds:
        return list(authors.filter(pk=release.author.pk))
    if release.author is not None and release.author.kind == AuthorKind.ANNOTATOR:
        return []
    notes = ReleasedNote.objects.filter(release=release).order_by().values("document_id")
    reviewed = Review.objects.filter(document_id__in=notes, finished_at__isnull=False).order_by()
    return list(authors.filter(pk__in=list(reviewed.values_list("author_id", flat=True).distinct())))


def models_of_runs(runs: Iterable[Author]) -> list[ModelRow]:
    """The models behind runs, as the features that run them answer."""
    used = [one for run in runs for answer in models_of(author=run) for one in answer]
    return [_model(one) for one in used]


def _model(one: UsedModel) -> ModelRow:
    training = None
    if one.model is not None:
        training = Training(gold=one.gold, gold_hash=one.gold_hash, notes=one.notes, spans=one.spans)
    return ModelRow(run=one.run, backend=one.backend, revision=one.revision, model=one.model, training=training)


def agreement_of(project: Project) -> Agreement | None:
    """The agreement of the current annotations if it was computed: tokens, by label."""
    found = kept_figures(project, ComparedUnit.TOKEN)
    if found is None:
        return None
    report = found["granularities"].get(str(Granularity.SUBCATEGORY))
    if report is None:
        return None
    alpha = report["alpha"]
    return Agreement(
        alpha=alpha["value"],
        low=alpha["low"],
        high=alpha["high"],
        observed=report["observed"]["value"],
        notes=found["notes"],
        annotators=len(found["annotators"]),
    )


def scores_of(release: Release, runs: Sequence[Author]) -> list[RunScore]:
    """All-or-nothing recall of runs against the release's gold version, or else the newest one, or the current gold."""
    project = release.project
    version = release.gold_version or project.gold_versions.order_by("-number").first()
    reference = Reference(project, version)
    among = Author.objects.filter(pk__in=[run.pk for run in runs])
    languages = note_languages(project)
    found, left = [], SCORED_NOW
    for row in authors_with_notes(reference, among):
        if not row.shared:
            continue
        whole, cost = _at_once(ScoreRequest(reference, row.author), left)
        left -= cost
        if whole is None:
            continue
        subgroups = []
        for language in languages if len(languages) > 1 else []:
            table, cost = _at_once(ScoreRequest(reference, row.author, language=language), left)
            left -= cost
            if table is not None and table["notes"]:
                subgroups.append(_recall(f"language {language}", table))
        more, cost = _by_metadata(ScoreRequest(reference, row.author), left)
        left -= cost
        subgroups += more
        found.append(
            RunScore(
                run=row.author.name + (IMPORTED if row.author.pk in project.imported_authors else ""),
                gold=f"gold version {version.number}" if version else "the current gold",
                copied=whole["own_gold_spans"],
                whole=_recall("", whole),
                subgroups=subgroups,
            )
        )
    return found


def _by_metadata(wanted: ScoreRequest, most: int) -> tuple[list[Recall], int]:
    """Recall by type and by site of the notes, if they have several and at most `most` characters need scoring."""
    notes = notes_of(wanted)
    rows = NoteMetadata.objects.filter(document__in=notes.notes).values_list("document_id", "note_type", "site")
    groups = {pk: [f"note type {kind}"] * bool(kind) + [f"site {site}"] * bool(site) for pk, kind, site in rows}
    distinct = sorted({group for found in groups.values() for group in found})
    cost = characters(notes) if len(distinct) > 1 else 0
    if not cost or cost > most:
        return [], 0
    mapper = label_mapper(wanted)
    scorers = {group: Scorer(mapper.order, mapper.category_of, has_labels=mapper.has_labels) for group in distinct}
    for pair in note_pairs(wanted.reference, wanted.author, notes):
        for group in groups.get(pair.pk, []):
            scorers[group].add(pair.text, mapper(pair.gold), mapper(pair.predicted))
    return [_recall(group, scorer.table()) for group, scorer in scorers.items()], cost


def _at_once(wanted: ScoreRequest, most: int) -> tuple[ScoredTable | None, int]:
    """A score that is stored or needs at most `most` characters, and the characters that were scored."""
    kept = kept_score(wanted)
    if kept is not None:
        return kept.table, 0
    cost = characters(notes_of(wanted))
    return (score(wanted).table, cost) if cost <= most else (None, 0)


def _recall(group: str, table: TableData) -> Recall:
    notes = table["all_or_nothing"][Criterion.COVERED]
    spans = sum(label["entity"]["gold"] for label in table["labels"])
    found = sum(label["found_spans"][Criterion.COVERED] for label in table["labels"])
    return Recall(
        group=group,
        notes=notes["notes"],
        all_found=notes["all_found"],
        share=notes["share"],
        spans=spans,
        found=found,
        recall=found / spans if spans else None,
    )


def audit_part(audit: AuditResult | None) -> AuditPart | None:
    """An audit's result for a certificate: upper bounds are rounded up, the auditors' recall down."""
    if audit is None:
        return None
    return AuditPart(
        plan=audit.plan,
        complete=audit.complete,
        method=audit.method,
        confidence=audit.confidence,
        notes=audit.notes,
        drawn=audit.drawn,
        read=audit.read,
        leaks=audit.leaks,
        bound=at_most(audit.bound),
        planted=audit.planted,
        planted_found=audit.planted_found,
        recall=None if audit.recall is None else at_least(audit.recall),
        target=audit.target,
        met=audit.met,
        auditors=[
            AuditorRow(name=name_of(one.user), read=one.read, planted=one.planted, found=one.found)
            for one in audit.auditors
        ],
        accepted=[
            AcceptedLeakRow(label=one.label, by=name_of(one.user), at=iso(one.at) if one.at else "")
            for one in audit.accepted
        ],
        labels=[_rate(name, rate) for name, rate in sorted(audit.labels.items())],
        strata=[_rate(name, rate) for name, rate in sorted(audit.strata.items())],
    )


def iso(moment: datetime) -> str:
    """A time in UTC, to the second."""
    return moment.astimezone(UTC).replace(microsecond=0).isoformat()


def _rate(name: str, rate: Rate) -> RateRow:
    return RateRow(name=name, read=rate.read, leaks=rate.leaks, bound=at_most(rate.bound))
