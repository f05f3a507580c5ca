"""Routes that compare runs with gold side by side: the figures, the spans behind the counts, language strategies."""

from typing import Any, Literal

from django.http import Http404
from django.utils.translation import gettext as _
from ninja import Field, Query, Schema

from annotations.core.access import Access, Can, authors_for
from annotations.core.api.paging import Page, PageAnswer, Paging
from annotations.core.api.routes import ApiRequest, Body, Problem, ProjectRouter, SpanInSentence, check, invalid, named
from annotations.gold.forms import HoldOutForm
from annotations.gold.rules import Split
from annotations.gold.selectors import versions
from annotations.gold.services.splitting import HOLD_OUT, begin_round
from annotations.jobs.api import JobItem
from annotations.models import Job
from annotations.notes.api.in_context import paged_in_context, sentence_of
from annotations.notes.selectors.in_context import Entry
from annotations.scores.rules.operating import MISSED, ONLY, UNTOUCHED
from annotations.scores.selectors import note_languages
from annotations.scores.services.side_by_side import ComparisonRequest, TellingSpan, common_notes, telling_spans
from annotations.text.names import MAX_ID
from models_runtime.runs.forms.runs import COMPARISON_REFUSED_AT
from models_runtime.runs.services import comparing
from models_runtime.runs.services.loop import loop_answer

router = ProjectRouter(tags=["Comparisons"])
PATH = "/projects/{slug:slug}/comparisons"
FIELDS = COMPARISON_REFUSED_AT | {
    "number": "authors",
    "author": "authors",
    "notes": "authors",
    "version": "gold",
    "split": "split",
}


class ComparedAuthors(Schema):
    """The ids of authors to compare with a gold version (0: the current gold), in a split, in one language."""

    authors: list[int] = Field([], max_length=50)
    gold: int = Field(0, ge=0, le=2**31 - 1)
    split: str = Field("", max_length=10)
    language: str = Field("", max_length=8)


class NewComparison(ComparedAuthors, Body):
    pass


class SpansWanted(ComparedAuthors):
    """`kind`: untouched (marked by none), missed (by none exactly), or only (found only by the author `only`)."""

    kind: Literal["untouched", "missed", "only"] = "untouched"
    only: int = Field(0, ge=0, le=MAX_ID)


class ComparisonOut(Schema):
    """The figures, as the command `compare_runs --json` gives them."""

    figures: dict[str, Any]


class GoldSpanInContext(SpanInSentence):
    """A gold span in its sentence: offsets in code points, end-exclusive, and the code of its label.

    `nearest` is the predicted span beside it: start, end and label.
    """

    label: str
    nearest: list[int | str] | None


class StrategiesWanted(Schema):
    """Which notes: of a gold version (by default the newest), in one language and split."""

    gold: int | None = Field(None, ge=1, le=2**31 - 1)
    language: str = Field("", max_length=8)
    split: str = Field("", max_length=10)


class StrategiesOut(Schema):
    """Runs of trained models by language strategy, on `notes` from which none of them learned."""

    notes: int
    rows: list[comparing.StrategyRow]


@router.get(PATH, Can.READ_NOTES, response=ComparisonOut)
def read_comparison(request: ApiRequest, access: Access, wanted: Query[ComparedAuthors]) -> ComparisonOut:
    """Compare authors with gold on the notes that all of them annotated. A long comparison needs a job first (409)."""
    with named(FIELDS):
        return ComparisonOut(figures=comparing.as_dict(_at_once(request, _asked(access, wanted))))


@router.post(f"{PATH}/jobs", Can.READ_NOTES, response={202: JobItem})
def start_comparison_job(access: Access, body: NewComparison) -> Job:
    """Start the job of a long comparison."""
    with named(FIELDS):
        return comparing.start_comparison(wanted=_asked(access, body), actor=access.user)


@router.get(f"{PATH}/spans", Can.READ_NOTES, response=Page[GoldSpanInContext])
def list_compared_spans(
    request: ApiRequest, access: Access, paging: Query[Paging], wanted: Query[SpansWanted]
) -> PageAnswer:
    """List the gold spans behind a count in their sentences. The audit log records the notes."""
    with named(FIELDS):
        spans = telling_spans(_at_once(request, _asked(access, wanted)))
    kind = {"untouched": UNTOUCHED, "missed": MISSED, "only": f"{ONLY}{wanted.only}"}[wanted.kind]
    return paged_in_context(request, paging, access, spans.get(kind, []), list, _span, "comparison")


@router.get("/projects/{slug:slug}/strategies", Can.READ_NOTES, response=StrategiesOut)
def read_strategies(request: ApiRequest, access: Access, wanted: Query[StrategiesWanted]) -> StrategiesOut:
    """Compare runs of trained models by the languages that they learned from."""
    version = next((one for one in versions(access.project) if wanted.gold in (None, one.number)), None)
    if version is None:
        raise Http404("This version does not exist.")
    if wanted.split not in ("", *Split):
        message = _("There is no such split. Choose one of: %(choices)s.")
        raise invalid(("split", message % {"choices": ", ".join(Split)}))
    if wanted.language not in ("", *note_languages(access.project)):
        raise invalid(("language", _("This project has no notes in this language.")))
    found = comparing.compared_strategies(
        access.project, version, language=wanted.language, split=wanted.split, among=authors_for(access),
        most=None if request.patient else comparing.MOST_CHARACTERS,
    )  # fmt: skip
    if found.late:
        raise Problem(409, "long", _("These notes are too long for a request. Use the command “do read_strategies”."))
    return StrategiesOut(notes=found.notes, rows=found.rows)


def _asked(access: Access, wanted: ComparedAuthors) -> ComparisonRequest:
    return comparing.asked(access, ids=wanted.authors, gold=wanted.gold, split=wanted.split, language=wanted.language)


def _at_once(request: ApiRequest, wanted: ComparisonRequest) -> ComparisonRequest:
    if not request.patient and comparing.takes_long(wanted, common_notes(wanted)):
        raise Problem(409, "no-figures", _("This comparison needs a job first. Start it, and read the figures then."))
    return wanted


def _span(row: TellingSpan, entry: Entry) -> GoldSpanInContext:
    (start, end, label), nearest = row[2][:3], row[3]
    return GoldSpanInContext(
        start=start, end=end, label=label, nearest=list(nearest[:3]) if nearest else None, **sentence_of(entry)
    )


# Routes of the loop: its rounds with the next step, and beginning a round.


LOOP = "/projects/{slug:slug}/loop"


class LoopOut(Schema):
    """The loop of gold, training, running and reviewing. `next` is the next step: freeze, train, run or review.

    `left` notes are not gold yet; `held_out` notes are kept for scoring. A round has the figures of the command `loop`.
    """

    gold_notes: int
    left: int
    held_out: int | None
    next: str
    rounds: list[dict[str, Any]]


class NewRound(Body):
    """`share`: percent of the notes that the first round holds out. Later rounds hold out the same notes."""

    share: int = HOLD_OUT


class Round(Schema):
    """The gold version of the round, and whether it is new."""

    version: int
    made: bool


@router.get(LOOP, Can.READ_NOTES, response=LoopOut, tags=["Loop"])
def read_loop(access: Access) -> LoopOut:
    """Read the rounds and the next step."""
    return LoopOut(**loop_answer(access.project))


@router.post(f"{LOOP}/rounds", Can.MAKE_GOLD, response=Round, tags=["Loop"])
def begin_loop_round(access: Access, body: NewRound) -> Round:
    """Begin the next round: freeze gold and hold out notes. Without a change of gold, nothing is frozen."""
    wanted = check(HoldOutForm(body.dict()))
    begun = begin_round(project=access.project, actor=access.user, share=wanted["share"])
    return Round(version=begun.version.number, made=begun.made)
