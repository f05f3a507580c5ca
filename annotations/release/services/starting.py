"""Start a release: its row, a row for each of its notes, and the job that prepares them, in one transaction."""

import uuid
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from typing import Any

from django.db import connection, transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations import models
from annotations.core.services import ServiceError, good_name, keep_labels
from annotations.jobs.services.queue import enqueue, key_of, started_with
from annotations.release.events import RELEASE_PREPARED_AGAIN, RELEASE_STARTED, ReleaseStarted
from annotations.release.rules.certificates.content import RecordsFile, ReleasedRecords
from annotations.release.rules.redaction.policy import Action, IdentifierType
from annotations.release.selectors.surrogates import edited_since
from annotations.release.services.policies import policy_named, read_policy, require_total
from annotations.release.services.recordings import check_recordings
from annotations.release.services.settling import settle
from annotations.release.services.sources import SCHEMAS, ReleasedAnnotations, source_of, union_of
from annotations.release.services.surrogates.makers import Params, checked_maker, queue_of

KIND = "release"
LONGEST_PURPOSE, LONGEST_RECIPIENT, LONGEST_SPEC = 300, 200, 200


def start_release(
    *,
    project: models.Project,
    set_spec: str,
    policy: models.ReleasePolicy,
    actor: models.User | None,
    purpose: str = "",
    recipient: str = "",
    expires_on: date | None = None,
    surrogate_maker: Params | None = None,
    searched_runs: Sequence[str] = (),
    keep_names: bool = False,
    only: Collection[int] | None = None,
    token: str = "",
) -> models.Release:
    """Start a release of all notes with the chosen annotations. The same `token` (one per form) gives the same release.

    `only`: the ids of notes to which the release is restricted.

    `searched_runs`: runs, as run:NAME, whose suggestions the leak gate also looks for. `keep_names`: released notes
    keep the names of the notes; by default they get neutral ones.

    `surrogate_maker`: the parameters of a language model that makes surrogates, from
    `services.surrogates.makers.checked_maker`; without, rules make them. Raises ServiceError: `set` or `version` for
    unknown annotations, `empty` if no note has them, `unmapped` with the labels for which the policy has no rule,
    `policy` for a policy of another project, `long` for a long text, `voice` for recordings by Safe Harbor.
    """
    key = f"{project.pk}-{actor.pk if actor else 0}-{token or uuid.uuid4().hex}"
    purpose, recipient = checked_texts(purpose, recipient)
    if len(set_spec) > LONGEST_SPEC:
        raise ServiceError(_("These are too many annotation sets for one release. Choose fewer."), code="long")
    with transaction.atomic():
        keep_labels(project.pk)
        models.Project.objects.select_for_update().get(pk=project.pk)
        existing = started_with(models.Release, project, KIND, key)
        if existing is not None:
            return existing
        if policy.project_id != project.pk or policy.pk is None:
            raise ServiceError(_("This policy is not one of the project's. Choose one of its policies."), code="policy")
        require_total(project, read_policy(policy.rules))
        source = source_of(project, set_spec)
        check_recordings(project, policy, source)
        runs = _runs(project, searched_runs)
        release = models.Release.objects.create(
            project=project,
            number=_next_number(project),
            set_spec=set_spec,
            author=source.author,
            gold_version=source.gold_version,
            policy=policy,
            purpose=purpose,
            recipient=recipient,
            expires_on=expires_on,
            surrogate_maker=dict(surrogate_maker or {}),
            searched_runs=runs,
            keep_names=keep_names,
            created_by=actor,
        )
        release.note_count = _make_rows(release, source, only)
        if not release.note_count:
            message = _("“%(spec)s” has no submitted annotation sets, so there is nothing to release.")
            raise ServiceError(message % {"spec": set_spec}, code="empty")
        release.job = enqueue_job(release, key_of(KIND, key), actor, release.note_count)
        release.save(update_fields=["job", "note_count"])
        data: ReleaseStarted = {
            "release": release.number,
            "policy": policy.pk,
            "set": "+".join(one.spec.partition(":")[0] for one in source.wanted),
            "authors": [one.author.pk for one in source.wanted if one.author],
            "gold_versions": [one.version.number for one in source.wanted if one.version],
            "notes": release.note_count,
        }
        RELEASE_STARTED.record(actor=actor, project_id=project.pk, data=data)
    return release


def _next_number(project: models.Project) -> int:
    """The number of the project's next release. The caller has locked the project."""
    return (models.Release.objects.filter(project=project).aggregate(last=Max("number"))["last"] or 0) + 1


def release_records(
    *,
    project: models.Project,
    policy: models.ReleasePolicy,
    records: ReleasedRecords,
    release: models.Release | None,
    actor: models.User | None,
) -> models.Release:
    """Let files of records leave with a release: with that of their notes if it is not signed, else with a new one.

    A new one has no notes; it is prepared, so that it can be signed.
    """
    with transaction.atomic():
        models.Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        if release is not None:
            release = models.Release.objects.select_for_update(of=("self",)).get(pk=release.pk)
        if release is None or release.state != models.ReleaseState.PREPARED:
            release = models.Release.objects.create(
                project=project, number=_next_number(project), set_spec=SCHEMAS, policy=policy, created_by=actor,
                state=models.ReleaseState.PREPARED,
            )  # fmt: skip
            data: ReleaseStarted = {
                "release": release.number, "policy": policy.pk, "set": SCHEMAS, "authors": [], "gold_versions": [],
                "notes": 0,
            }  # fmt: skip
            RELEASE_STARTED.record(actor=actor, project_id=project.pk, data=data)
        before: Sequence[RecordsFile] = release.figures.get("records", {"files": []})["files"]
        release.figures |= {"records": records | {"files": [*before, *records["files"]]}}
        release.save(update_fields=["figures"])
    return settle(release=release)


def start_chosen(
    *,
    project: models.Project,
    sets: Sequence[str],
    policy: tuple[str, int | None],
    maker: str,
    may_leave: bool,
    actor: models.User | None,
    kinds: Mapping[str, IdentifierType] | None = None,
    **others: Any,
) -> models.Release:
    """Start a release as a person chose it: specifications of annotation sets, a policy, and a maker of surrogates.

    `policy` is a short name and a version (None: the newest). `kinds`: those of labels of which nobody has said it; the
    others of these labels are masked. `others` are as in `start_release`. Raises ServiceError as `start_release`,
    `policy_named` and `checked_maker`.
    """
    return start_release(
        project=project,
        set_spec=union_of(sets),
        policy=policy_named(project, *policy, actor=actor, kinds=kinds),
        actor=actor,
        surrogate_maker=checked_maker(project, maker, may_leave=may_leave),
        **others,
    )


def enqueue_job(release: models.Release, key: str, actor: models.User | None, total: int) -> models.Job:
    """Enqueue the job that prepares the pending notes of a release."""
    params = {"release_id": release.pk}
    queue = queue_of(release.surrogate_maker)
    return enqueue(kind=KIND, project=release.project, params=params, key=key, actor=actor, total=total, queue=queue)


def checked_texts(purpose: str, recipient: str) -> tuple[str, str]:
    """The purpose and the recipient without surrounding white space. Raises ServiceError `long` or their name."""
    purpose, recipient = good_name(purpose, code="purpose"), good_name(recipient, code="recipient")
    if len(purpose) > LONGEST_PURPOSE or len(recipient) > LONGEST_RECIPIENT:
        message = _(
            "The purpose has at most %(purpose)s characters and the recipient at most %(recipient)s. Shorten them."
        )
        raise ServiceError(message % {"purpose": LONGEST_PURPOSE, "recipient": LONGEST_RECIPIENT}, code="long")
    return purpose, recipient


def _runs(project: models.Project, specs: Sequence[str]) -> list[str]:
    """Runs of the project, each once. Raises ServiceError `runs` for anything else."""
    found = []
    for spec in dict.fromkeys(specs):
        source = source_of(project, spec)
        if source.author is None or source.author.kind not in models.Author.MODELS:
            message = _("“%(spec)s” is not a run. Name runs of the project, as in run:rules-1.")
            raise ServiceError(message % {"spec": spec}, code="runs")
        found.append(spec)
    return found


def _make_rows(release: models.Release, source: ReleasedAnnotations, only: Collection[int] | None) -> int:
    """Make one row per note by one statement, in the order of patient and note. Return their number."""
    released, note = models.ReleasedNote._meta.db_table, models.Document._meta.db_table
    cast = "::jsonb" if connection.vendor == "postgresql" else ""
    empty, nothing = f"'[]'{cast}", f"'{{}}'{cast}"
    condition, values = source.notes()
    if only is not None:
        condition += f" AND id IN ({', '.join(str(int(pk)) for pk in only) or 'NULL'})"
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {released} (release_id, document_id, name, state, sha256, span_count, spans, pieces, extra, "  # noqa: S608 - names of ours
            "exceptions, characters_kept, text) "
            f"SELECT %s, id, name, %s, '', 0, {empty}, {empty}, {empty}, {nothing}, 0, '' FROM {note} "
            f"WHERE project_id = %s AND {condition} ORDER BY patient_id, id",
            [release.pk, str(models.ReleasedNoteState.PENDING), release.project_id, *values],
        )
        return int(cursor.rowcount)


# Releases whose surrogates were edited after they were prepared, and preparing them again.


def outdated(release: models.Release) -> bool:
    """Whether somebody has edited the project's surrogates since a prepared, unsigned release began to use them."""
    if (
        release.state != models.ReleaseState.PREPARED
        or not release.note_count
        or not edited_since(release.project, release.begun_at)
    ):
        return False
    return any(rule.action == Action.SURROGATE for rule in read_policy(release.policy.rules).rules.values())


def prepare_again(*, release: models.Release, actor: models.User | None) -> models.Release:
    """Prepare all notes of an outdated release again, with the surrogates as they are now.

    Decisions about findings stay where the place is found again (`batches.store_prepared`). A release that is being
    prepared, or is not outdated, stays as it is, so that a repeated request does no harm. Raises ServiceError `state`
    for a signed or withdrawn release.
    """
    with transaction.atomic():
        models.Project.objects.select_for_update(no_key=True).get(pk=release.project_id)
        rows = models.Release.objects.select_for_update(of=("self",)).select_related("project", "policy", "job")
        locked = rows.get(pk=release.pk)
        if locked.state not in (models.ReleaseState.PREPARING, models.ReleaseState.PREPARED):
            message = _(
                "Only a release that is not signed can be prepared again. This one is: %(state)s. Make a new one."
            )
            raise ServiceError(message % {"state": locked.get_state_display()}, code="state")
        if outdated(locked):
            models.ReleasedNote.objects.filter(release=locked).update(state=models.ReleasedNoteState.PENDING)
            locked.state, locked.begun_at = models.ReleaseState.PREPARING, timezone.now()
            locked.content_hash, locked.revision = "", locked.revision + 1
            total = models.ReleasedNote.objects.filter(release=locked).count()
            locked.job = enqueue_job(locked, key_of(KIND, f"{locked.pk}-again-{uuid.uuid4().hex}"), actor, total)
            locked.save(update_fields=["state", "begun_at", "content_hash", "revision", "job"])
            RELEASE_PREPARED_AGAIN.record(
                actor=actor, project_id=locked.project_id, data={"release": locked.number, "notes": total}
            )
    release.refresh_from_db()
    return release
