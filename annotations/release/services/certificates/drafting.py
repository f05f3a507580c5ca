"""The content of a release's next certificate, before it is signed."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from django.db.models import Count, Sum
from django.utils import timezone

from annotations.agreement.rules.units import ComparedUnit, Granularity
from annotations.agreement.services.figures import kept_figures
from annotations.core.authors import IMPORTED
from annotations.core.hooks import models_of
from annotations.models import Author, AuthorKind, Label, NoteMetadata, Project, Release, ReleasedNote, Review
from annotations.projects.selectors.labels import mappings
from annotations.release.rules.certificates import content as parts
from annotations.release.rules.certificates.signatures import FORMAT
from annotations.release.rules.certificates.statements import CODE_OF_TYPE, identifier_of, identifier_rows, statements
from annotations.release.rules.redaction.policy import Action, IdentifierType, Policy
from annotations.release.selectors.audits import AuditResult, Rate
from annotations.release.selectors.recordings import has_recordings
from annotations.release.selectors.releases import leak_counts
from annotations.release.services.certificates.people import allowed_by, name_of, readers_of, unfinished_notes
from annotations.release.services.settling import content_hash, edition_of, released_notes, texts_hash
from annotations.release.services.sources import specs_of
from annotations.scores.rules import Scorer
from annotations.scores.rules.table import TableData
from annotations.scores.rules.tally import Criterion
from annotations.scores.selectors import Reference, authors_with_notes, characters, note_languages, note_pairs
from annotations.scores.services.scoring import ScoredTable, ScoreRequest, kept_score, label_mapper, notes_of, score

# Measures of other features that a certificate quotes. What was not measured is None, and nothing is estimated.


# The characters that may be scored while a person waits, about two seconds. Larger scores are quoted if stored.
SCORED_NOW = 400_000


@dataclass(frozen=True)
class ReleaseMeasurements:
    """What is gathered before the transaction that signs."""

    agreement: parts.Agreement | None
    scores: list[parts.RunScore]
    models: list[parts.ModelRow]


def measured(release: Release) -> ReleaseMeasurements:
    """Gather agreement, scores and models of a release. Scores may be computed and stored, as on their own page."""
    runs = runs_of(release)
    return ReleaseMeasurements(agreement_of(release.project), scores_of(release, runs), models_of_runs(runs))


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


def models_of_runs(runs: Iterable[Author]) -> list[parts.ModelRow]:
    """The models behind runs, as the features that run them answer."""
    used = [one for run in runs for answer in models_of(author=run) for one in answer]
    return [
        parts.filled(parts.ModelRow, one, training=None if one.model is None else parts.filled(parts.TrainingData, one))
        for one in used
    ]


def agreement_of(project: Project) -> parts.Agreement | None:
    """The agreement of the current annotations if it was computed: tokens, by label."""
    found = kept_figures(project, ComparedUnit.TOKEN)
    if found is None:
        return None
    report = found["granularities"].get(str(Granularity.SUBCATEGORY))
    if report is None:
        return None
    alpha = report["alpha"]
    return parts.Agreement(
        alpha=alpha["value"],
        low=alpha["low"],
        high=alpha["high"],
        observed=report["observed"]["value"],
        notes=found["notes"],
        annotators=len(found["annotators"]),
    )


def scores_of(release: Release, runs: Sequence[Author]) -> list[parts.RunScore]:
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
            parts.RunScore(
                run=row.author.name + (IMPORTED if row.author.pk in project.imported_authors else ""),
                gold=f"gold version {version.number}" if version else "the current gold",
                copied=whole["own_gold_spans"],
                whole=_recall("", whole),
                subgroups=subgroups,
            )
        )
    return found


def _by_metadata(wanted: ScoreRequest, most: int) -> tuple[list[parts.Recall], int]:
    """Recall by type and by site of the notes, if they have several and at most `most` characters need scoring."""
    notes = notes_of(wanted)
    rows = NoteMetadata.objects.filter(document__in=notes.notes).values_list("document_id", "note_type", "site")
    groups = {pk: [f"note type {kind}"] * bool(kind) + [f"site {site}"] * bool(site) for pk, kind, site in rows}
    distinct = sorted({group for found in groups.values() for group in found})
    cost = characters(notes, most) if len(distinct) > 1 else 0
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
    notes = notes_of(wanted)
    kept = kept_score(wanted, notes)
    if kept is not None:
        return kept.table, 0
    cost = characters(notes, most)
    return (score(wanted).table, cost) if cost <= most else (None, 0)


def _recall(group: str, table: TableData) -> parts.Recall:
    notes = table["all_or_nothing"][Criterion.COVERED]
    spans = sum(label["entity"]["gold"] for label in table["labels"])
    found = sum(label["found_spans"][Criterion.COVERED] for label in table["labels"])
    return parts.Recall(
        group=group,
        notes=notes["notes"],
        all_found=notes["all_found"],
        share=notes["share"],
        spans=spans,
        found=found,
        recall=found / spans if spans else None,
    )


def audit_part(audit: AuditResult | None) -> parts.AuditPart | None:
    """An audit's result for a certificate: upper bounds are rounded up, the auditors' recall down."""
    if audit is None:
        return None
    return parts.filled(
        parts.AuditPart,
        audit,
        plan=audit.plan.pk,
        **{name: getattr(audit.plan, name) for name in ("drawn", "confidence", "target")},
        bound=parts.at_most(audit.bound),
        recall=None if audit.recall is None else parts.at_least(audit.recall),
        auditors=[parts.filled(parts.AuditorRow, one, name=name_of(one.user)) for one in audit.auditors],
        accepted=[
            parts.filled(
                parts.AcceptedLeakRow, one, by=name_of(found.decided_by), at=iso(at) if (at := found.decided_at) else ""
            )
            for one in audit.accepted
            if (found := one.finding)
        ],
        labels=_rates(audit.labels),
        strata=_rates(audit.strata),
    )


def iso(moment: datetime) -> str:
    """A time in UTC, to the second."""
    return moment.astimezone(UTC).replace(microsecond=0).isoformat()


def _rates(rates: Mapping[str, Rate]) -> list[parts.RateRow]:
    rows = sorted(rates.items())
    return [parts.filled(parts.RateRow, rate, name=name, bound=parts.at_most(rate.bound)) for name, rate in rows]


HIPAA = "hipaa-18"
MODELS = tuple(f"{kind}:" for kind in Author.MODELS)


@dataclass(frozen=True)
class Terms:
    """What the signer states: purpose and recipient (empty if not stated), and the last day of the certificate."""

    purpose: str
    recipient: str
    expires_on: date | None


@dataclass(frozen=True)
class SigningDetails:
    """Who signs what: the fingerprint of the key, the number of the certificate, the signer's name, and the time."""

    key: str
    number: int
    supersedes: int | None
    by: str
    at: datetime


def draft(
    release: Release, terms: Terms, measures: ReleaseMeasurements, signing: SigningDetails, audit: AuditResult | None
) -> parts.Content:
    """The content of a certificate of a release whose figures are stored. `audit`: what its audit shows."""
    figures = release.figures
    rules = rule_rows(release)
    voice = has_recordings(release)
    identifiers = identifier_rows(rules, looked_for(release), voice=voice)
    leaks, searched = leak_counts(release, audited=False), _searched(release)
    surrogate = [rule["label"] for rule in rules if rule["action"] == Action.SURROGATE]
    readings = {one.user.pk: one.read for one in audit.auditors} if audit else {}
    content = parts.filled(
        parts.Content,
        signing,
        format=FORMAT,
        project=release.project.slug,
        project_name=release.project.name,
        release=release.number,
        issued_at=signing.at.replace(microsecond=0).isoformat(),
        issued_by=signing.by,
        context=parts.filled(
            parts.Context,
            terms,
            expires_on=terms.expires_on.isoformat() if terms.expires_on else None,
            statements=statements(
                identifiers, audited=audit is not None, unread=bool(searched and searched["unread"]), voice=voice
            ),
        ),
        data=_data(release),
        identifiability=parts.Identifiability(
            policy=parts.filled(parts.PolicyPart, release.policy, rules=rules),
            identifiers=identifiers,
            gate=parts.Gate(
                found=leaks["found"],
                replaced=leaks["replaced"],
                allowed=leaks["allowed"],
                open=leaks["open"],
                by=allowed_by(release) if leaks["allowed"] else [],
                exceptions=release.figures.get("exceptions") or {},
                searched=searched,
            ),
            audit=audit_part(audit),
            scores=measures.scores,
            agreement=measures.agreement,
            models=measures.models,
            surrogates=_surrogates(release, surrogate),
            utility=parts.Utility(
                characters=figures["characters"],
                kept=figures["characters_kept"],
                share=figures["characters_kept"] / figures["characters"] if figures["characters"] else None,
            ),
        ),
        governance=parts.Governance(risks=[], readers=readers_of(release, readings)),
    )
    # The values stay what they are; only fractions are rounded.
    rounded: parts.Content = parts.written(content)
    return rounded


def rule_rows(release: Release) -> list[parts.RuleRow]:
    """What the policy does with each label, the label's identifier, and how many stretches it replaced or kept."""
    policy = Policy.read(release.policy.rules)
    names = dict(Label.objects.filter(label_set__project=release.project_id).values_list("code", "name"))
    mapped = mapping_of(release.project)
    return [
        parts.RuleRow(
            label=code,
            name=names.get(code, code),
            kind=str(rule.kind),
            action=str(rule.action),
            numbered=rule.numbered,
            identifier=identifier_of(code, rule.kind, mapped),
            spans=release.figures["spans_by_label"].get(code, 0),
        )
        for code, rule in policy.rules.items()
    ]


def looked_for(release: Release) -> set[str]:
    """The codes of the HIPAA identifiers that the leak gate looked for in all notes, whether labeled or not."""
    if "records" in release.figures:  # In fields that pass, it looks for identifiers of the record and its patient.
        return set()
    kinds = {IdentifierType.PHONE, IdentifierType.FAX, IdentifierType.EMAIL, IdentifierType.URL}
    searched = release.figures.get("searched") or {}
    if searched and not searched["unread"]:
        kinds |= {IdentifierType(one) for one in searched["kinds"]}
    # No rule looks for any other unique characteristic, which (R) names beside numbers and codes.
    found = {CODE_OF_TYPE[kind] for kind in kinds if kind in CODE_OF_TYPE} - {"OTHER_ID"}
    # Ages over 89 belong to the dates.
    return found if Policy.read(release.policy.rules).seeks_ages else found - {"DATES"}


def _searched(release: Release) -> parts.GateSearch | None:
    found = release.figures.get("searched")
    return parts.GateSearch(rules=found["rules"], runs=release.searched_runs, unread=found["unread"]) if found else None


def mapping_of(project: Project) -> dict[str, str | None]:
    """The HIPAA identifier of each label of a shipped label set; empty for others, whose labels go by their kind."""
    key = project.label_set.key
    if key == HIPAA:
        return {code: code for code in project.label_set.labels.values_list("code", flat=True)}
    found = mappings().get((key, HIPAA))
    return dict(found.labels) if found is not None and not found.to_category else {}


def _data(release: Release) -> parts.Data:
    gold, figures = release.gold_version, release.figures
    imported, by_model = unfinished_notes(release)
    languages = Counter[str]()
    for language, notes in released_notes(release).values_list("document__language").annotate(Count("pk")).order_by():
        languages[language or release.project.language] += notes
    return parts.Data(
        source=release.set_spec,
        checked=not (imported or by_model or any(spec.startswith(MODELS) for spec in specs_of(release.set_spec))),
        imported=imported,
        gold=parts.GoldHash(version=gold.number, hash=gold.content_hash, notes=gold.note_count) if gold else None,
        notes=figures["notes"],
        held_back=figures["held_back"],
        patients=figures.get("patients"),
        notes_without_patient=figures.get("notes_without_patient"),
        years=figures.get("years"),
        languages=dict(sorted(languages.items())),
        spans=released_notes(release).aggregate(spans=Sum("span_count", default=0))["spans"],
        records=figures.get("records"),
        hashes=parts.Hashes(
            content=content_hash(release),
            texts=texts_hash(release),
            prepared=release.content_hash,
            edition=edition_of(release),
            policy=hashlib.sha256(parts.canonical(release.policy.rules)).hexdigest(),
        ),
        erased=erased_of(release),
    )


def erased_of(release: Release) -> list[parts.ErasedNotes]:
    """The erasures since the release was prepared, by day."""
    days: dict[str, parts.ErasedNotes] = {}
    for row in release.erasures.order_by("id"):
        day = timezone.localdate(row.at).isoformat()
        one = days.setdefault(day, parts.ErasedNotes(on=day, notes=0, patients=0))
        one["notes"] += row.notes
        one["patients"] += row.patients
    return list(days.values())


def _surrogates(release: Release, labels: list[str]) -> parts.Surrogates | None:
    if not labels:
        return None
    maker = release.surrogate_maker
    made_by = f"{maker.get('server', '')}/{maker.get('model', '')}" if maker else None
    return parts.Surrogates(labels=labels, made_by=made_by, measures=_surrogate_measures(release))


def _surrogate_measures(release: Release) -> dict[str, Any]:
    """The stored measures. Those of a model on original and released text have names that begin with “f1”."""
    found = release.figures.get("surrogates") or {}
    flat = {name: value for name, value in found.items() if value is None or isinstance(value, int | float | str)}
    return flat | {f"f1_{name}": value for name, value in (found.get("f1") or {}).items()}
