"""What the pages of a release show about it: names of annotation sets, figures, what is left to do, its notes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotations.models import LeakFinding, Release, ReleasedNote
from annotations.notes.selectors.in_context import LabelLook, label_looks

def open_counts(releases: Iterable[Release]) -> dict[int, int]:
    """The number of open findings by release id."""
    rows = LeakFinding.objects.filter(note__release__in=list(releases), decision="").order_by()
    return dict(rows.values_list("note__release").annotate(count=Count("pk")))


@dataclass(frozen=True)
class Step:
    """A step on the way to an exported release. `url` is the name of the page where it is done."""

    title: str
    text: str
    done: bool
    url: str = ""
    action: str = ""


def steps_of(release: Release, open_findings: int) -> list[Step]:
    """The steps that this feature knows: preparing, and deciding what the leak gate found."""
    prepared = release.state != Release.State.PREPARING
    if open_findings:
        leaks = ngettext(
            "%(n)d finding is open. Its note is held back from exports until you decide.",
            "%(n)d findings are open. Their notes are held back from exports until you decide.",
            open_findings,
        ) % {"n": open_findings}
    elif prepared:
        leaks = _("No finding is open.")
    else:
        leaks = _("The leak gate looks for labeled strings and known identifiers in every released note.")
    return [
        Step(_("Prepare the notes"), _("Every labeled span is treated as the policy says."), prepared),
        Step(
            _("Check for leaks"),
            leaks,
            prepared and not open_findings,
            "release_findings" if open_findings else "",
            _("Decide findings"),
        ),
    ]


@dataclass(frozen=True)
class Figure:
    """A count by label or action, with the share of all spans (0 to 1)."""

    name: str
    count: int
    share: float
    look: LabelLook | None = None


@dataclass(frozen=True)
class Figures:
    """The figures of a prepared release, for its page."""

    characters: int
    kept: float | None
    labels: Sequence[Figure]
    actions: Sequence[Figure]
    leaks: Mapping[str, int]
    surrogates: Mapping[str, Any]
    years: Sequence[int]
    patients: int
    without_patient: int


def figures_of(release: Release) -> Figures | None:
    """The stored figures; None until the release is prepared."""
    stored = release.figures
    if not stored:
        return None
    characters = int(stored.get("characters", 0))
    looks = label_looks(release.project)
    labels = stored.get("spans_by_label", {})
    order = {code: position for position, code in enumerate(looks)}
    by_label = sorted(labels.items(), key=lambda item: (order.get(item[0], len(order)), item[0]))
    leaks = stored.get("leaks", {})
    return Figures(
        characters=characters,
        kept=stored.get("characters_kept", 0) / characters if characters else None,
        labels=_figures([(code, n, looks.get(code) or LabelLook(code, code)) for code, n in by_label]),
        actions=_figures([(action, n, None) for action, n in stored.get("spans_by_action", {}).items()]),
        leaks={name: int(n) for name, n in leaks.items() if isinstance(n, int)},
        surrogates=stored.get("surrogates") or {},
        years=stored.get("years") or [],
        patients=int(stored.get("patients", 0)),
        without_patient=int(stored.get("notes_without_patient", 0)),
    )


def _figures(rows: Sequence[tuple[str, int, LabelLook | None]]) -> list[Figure]:
    total = sum(n for _name, n, _look in rows)
    return [Figure(look.name if look else name, n, n / total if total else 0, look) for name, n, look in rows]


def released_notes(release: Release) -> QuerySet[ReleasedNote]:
    """The notes of a release, without their texts, in the order of the release."""
    rows = ReleasedNote.objects.filter(release=release).defer("text", "spans", "pieces", "extra")
    return rows.order_by("pk")


def around_note(note: ReleasedNote) -> tuple[int | None, int | None]:
    """The ids of the original notes before and after this one in its release."""
    rows = ReleasedNote.objects.filter(release_id=note.release_id)
    before = rows.filter(pk__lt=note.pk).order_by("-pk").values_list("document", flat=True).first()
    after = rows.filter(pk__gt=note.pk).order_by("pk").values_list("document", flat=True).first()
    return before, after
