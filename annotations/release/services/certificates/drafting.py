"""The content of a release's next certificate, before it is signed."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from django.utils import timezone

from annotations.models import Author, Label, Project, Release
from annotations.projects.selectors.labels import mappings
from annotations.release.rules.certificates.canonical import canonical, written
from annotations.release.rules.certificates.content import (
    Content,
    Context,
    Data,
    Erased,
    Gate,
    GoldHash,
    Governance,
    Hashes,
    Identifiability,
    PolicyPart,
    Risk,
    RuleRow,
    Searched,
    Surrogates,
    Utility,
)
from annotations.release.rules.certificates.hipaa import OF_KIND, identifier_of
from annotations.release.rules.certificates.signatures import FORMAT
from annotations.release.rules.certificates.statements import identifier_rows, statements
from annotations.release.rules.redaction.kinds import IdentifierType
from annotations.release.rules.redaction.policy import Action, Policy
from annotations.release.selectors.audits import AuditResult, audit_result
from annotations.release.selectors.certificates import ReadyNotes, kept_share, rows_of
from annotations.release.selectors.releases import leak_counts
from annotations.release.services.certificates.measures import Measured, audit_part
from annotations.release.services.certificates.people import allowed_by, imported_notes, readers_of
from annotations.release.services.sources import specs_of

HIPAA = "hipaa-18"
MODELS = tuple(f"{kind}:" for kind in Author.MODELS)


@dataclass(frozen=True)
class Terms:
    """What the signer states: purpose and recipient (empty if not stated), and the last day of the certificate."""

    purpose: str
    recipient: str
    expires_on: date | None


@dataclass(frozen=True)
class Signing:
    """Who signs what: the fingerprint of the key, the number of the certificate, the signer's name, and the time."""

    key: str
    number: int
    supersedes: int | None
    by: str
    at: datetime


def draft(
    release: Release, terms: Terms, measures: Measured, signing: Signing, risks: Sequence[Risk] = (),
    rows: ReadyNotes | None = None,
) -> Content:  # fmt: skip
    """The content of a certificate. `rows` are read again unless they are given."""
    rows = rows or rows_of(release)
    audit = audit_result(release)
    rules = rule_rows(release, rows)
    identifiers = identifier_rows(rules, looked_for(release))
    leaks, searched = leak_counts(release, audited=False), _searched(release)
    surrogate = [rule["label"] for rule in rules if rule["action"] == Action.SURROGATE]
    content = Content(
        format=FORMAT,
        key=signing.key,
        project=release.project.slug,
        project_name=release.project.name,
        release=release.number,
        number=signing.number,
        supersedes=signing.supersedes,
        issued_at=signing.at.replace(microsecond=0).isoformat(),
        issued_by=signing.by,
        context=Context(
            purpose=terms.purpose,
            recipient=terms.recipient,
            expires_on=terms.expires_on.isoformat() if terms.expires_on else None,
            statements=statements(identifiers, audited=audit is not None, unread=bool(searched and searched["unread"])),
        ),
        data=_data(release, rows, rules),
        identifiability=Identifiability(
            policy=PolicyPart(
                name=release.policy.name, slug=release.policy.slug, version=release.policy.version, rules=rules
            ),
            identifiers=identifiers,
            gate=Gate(
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
            utility=Utility(characters=rows.characters, kept=rows.characters_kept, share=kept_share(rows)),
        ),
        governance=Governance(risks=list(risks), readers=readers_of(release, _auditors(audit))),
    )
    # The values stay what they are; only fractions are rounded.
    rounded: Content = written(content)
    return rounded


def rule_rows(release: Release, rows: ReadyNotes) -> list[RuleRow]:
    """What the policy does with each label, the label's identifier, and how many stretches it replaced or kept."""
    policy = Policy.read(release.policy.rules)
    names = dict(Label.objects.filter(label_set__project=release.project_id).values_list("code", "name"))
    mapped = mapping_of(release.project)
    return [
        RuleRow(
            label=code,
            name=names.get(code, code),
            kind=str(rule.kind),
            action=str(rule.action),
            numbered=rule.numbered,
            identifier=identifier_of(code, rule.kind, mapped),
            spans=rows.spans[code],
        )
        for code, rule in policy.rules.items()
    ]


def looked_for(release: Release) -> set[str]:
    """The codes of the HIPAA identifiers that the leak gate looked for in all notes, whether labeled or not."""
    kinds = {IdentifierType.PHONE, IdentifierType.FAX, IdentifierType.EMAIL, IdentifierType.URL}
    searched = release.figures.get("searched") or {}
    if searched and not searched["unread"]:
        kinds |= {IdentifierType(one) for one in searched["kinds"]}
    found = {code for kind in kinds if (code := OF_KIND[kind])}
    # Ages over 89 belong to the dates.
    return found if Policy.read(release.policy.rules).seeks_ages else found - {"DATES"}


def _searched(release: Release) -> Searched | None:
    found = release.figures.get("searched")
    if not found:
        return None
    return Searched(rules=found["rules"], runs=release.searched_runs, unread=found["unread"])


def mapping_of(project: Project) -> dict[str, str | None]:
    """The HIPAA identifier of each label of a shipped label set; empty for others, whose labels go by their kind."""
    key = project.label_set.key
    if key == HIPAA:
        return {code: code for code in project.label_set.labels.values_list("code", flat=True)}
    found = mappings().get((key, HIPAA))
    return dict(found.labels) if found is not None and not found.to_category else {}


def _data(release: Release, rows: ReadyNotes, rules: Sequence[RuleRow]) -> Data:
    gold = release.gold_version
    imported = imported_notes(release)
    return Data(
        source=release.set_spec,
        checked=not imported and not any(spec.startswith(MODELS) for spec in specs_of(release.set_spec)),
        imported=imported,
        gold=GoldHash(version=gold.number, hash=gold.content_hash, notes=gold.note_count) if gold else None,
        notes=rows.notes,
        held_back=rows.held_back,
        patients=rows.patients,
        notes_without_patient=rows.without_patient,
        years=rows.years,
        languages=dict(sorted(rows.languages.items())),
        spans=rows.released_spans,
        hashes=Hashes(
            content=rows.content_hash,
            texts=rows.texts_hash,
            prepared=release.content_hash,
            policy=hashlib.sha256(canonical(release.policy.rules)).hexdigest(),
        ),
        erased=erased_of(release),
    )


def erased_of(release: Release) -> list[Erased]:
    """The erasures since the release was prepared, by day."""
    days: dict[str, Erased] = {}
    for row in release.erasures.order_by("id"):
        day = timezone.localdate(row.at).isoformat()
        one = days.setdefault(day, Erased(on=day, notes=0, patients=0))
        one["notes"] += row.notes
        one["patients"] += row.patients
    return list(days.values())


def _surrogates(release: Release, labels: list[str]) -> Surrogates | None:
    if not labels:
        return None
    maker = release.surrogate_maker
    made_by = f"{maker.get('server', '')}/{maker.get('model', '')}" if maker else None
    return Surrogates(labels=labels, made_by=made_by, measures=_surrogate_measures(release))


def _surrogate_measures(release: Release) -> dict[str, Any]:
    """The stored measures. Those of a model on original and released text have names that begin with “f1”."""
    found = release.figures.get("surrogates") or {}
    flat = {name: value for name, value in found.items() if value is None or isinstance(value, int | float | str)}
    return flat | {f"f1_{name}": value for name, value in (found.get("f1") or {}).items()}


def _auditors(audit: AuditResult | None) -> dict[int, int]:
    """The notes that each auditor has read, by user id."""
    return {one.user.pk: one.read for one in audit.auditors} if audit else {}
