"""Prepare the notes of a release in batches of whole patients."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Final

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotations.core.bulk import collector_paused
from annotations.core.errors import ServiceError
from annotations.core.locks import ErasedMeanwhile, erasures_of, unerased
from annotations.models import Release, ReleasedNote, ReleasedNoteState
from annotations.release.services.policies import read_policy
from annotations.release.services.preparing import Preparer, source_of_release
from annotations.release.services.replacing import GoneMeanwhile
from annotations.release.services.surrogates.makers import paid_by
from annotations.release.services.writing import extras_of, store_prepared

Held = Sequence[tuple[int, int]]
"""First and last id of rows that other workers hold, both included."""

NOTES: Final = 200
CHARACTERS: Final = 1_000_000
"""A batch ends with the patient that reaches one of these limits."""
TRIES: Final = 20
"""How often a batch is prepared again because notes were erased meanwhile."""


def pending(release: Release) -> QuerySet[ReleasedNote]:
    return ReleasedNote.objects.filter(release=release, state=ReleasedNoteState.PENDING)


def next_batch(release: Release, held: Held = ()) -> list[int]:
    """The ids of the next pending rows: whole patients, all before the next rows that another worker holds."""
    rows = pending(release)
    for first, last in held:
        rows = rows.exclude(id__range=(first, last))
    ids: list[int] = []
    characters, before = 0, ""
    columns = ("id", "document__length", "document__patient_id")
    for pk, length, patient in rows.order_by("id").values_list(*columns).iterator(chunk_size=NOTES):
        new_patient = not patient or patient != before
        full = len(ids) >= NOTES or characters + length > CHARACTERS
        if ids and new_patient and (full or any(ids[0] < first < pk for first, _last in held)):
            break
        ids.append(pk)
        characters, before = characters + length, patient
    return ids


def preparer_of(release: Release) -> Preparer:
    policy = read_policy(release.policy.rules)
    return Preparer(
        release.project,
        policy,
        source_of_release(release),
        runs=release.searched_runs,
        keep_names=release.keep_names,
        maker=paid_by(release, release.surrogate_maker),
    )


@collector_paused()
def prepare_rows(
    release: Release, preparer: Preparer, ids: Sequence[int], writing: AbstractContextManager[object]
) -> None:
    """Prepare these rows and store them in the transaction that `writing` opens.

    If a note is erased meanwhile, nothing is stored: raises ErasedMeanwhile or GoneMeanwhile, and the caller starts
    again with the rows that are left.
    """
    begun = erasures_of(release.project_id)
    rows, siblings = rows_and_siblings(release, ids)
    originals = preparer.originals([(row.document, extras_of(row)) for row in [*rows, *siblings]])
    prepared = preparer.prepare(originals[: len(rows)], originals[len(rows) :])
    with writing:
        unerased(release.project_id, begun)
        store_prepared(release, rows, prepared)


def rows_and_siblings(release: Release, ids: Sequence[int]) -> tuple[list[ReleasedNote], list[ReleasedNote]]:
    """These rows, and all other rows of the same patients, with their documents."""
    all_rows = ReleasedNote.objects.filter(release=release).select_related("document").order_by("id")
    all_rows = all_rows.defer("text", "spans", "exceptions")
    rows = list(all_rows.filter(pk__in=ids))
    patients = {row.document.patient_id for row in rows} - {""}
    siblings: list[ReleasedNote] = []
    if patients:
        others = all_rows.filter(document__project=release.project_id, document__patient_id__in=patients)
        siblings = list(others.exclude(pk__in=ids))
    return rows, siblings


def again(tries: int = TRIES) -> Iterator[None]:
    """Count the tries of work that notes' erasures interrupt. Raises ServiceError after the last one."""
    for _try in range(tries):
        yield
    raise ServiceError(
        _("Notes of this project are being erased all the time. Wait until that has finished, then start again."),
        code="busy",
    )


MEANWHILE = (ErasedMeanwhile, GoneMeanwhile)
