from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotations.agreement.rules import ComparedUnit, Figure, Granularity, Recall, granularities, in_words
from annotations.agreement.selectors.figures import annotator_names, left_out
from annotations.agreement.selectors.names import GRANULARITIES, UNITS, shown_names
from annotations.agreement.selectors.table import table_lines
from annotations.agreement.services.figures import KeptFigures, figures_of, notes_of
from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, Needs, entered, find_project
from annotations.core.errors import ServiceError
from annotations.core.progress import progress_bar
from annotations.core.tokenizers import KINDS, TOKENIZER_HELP
from annotations.models import Document, Project, User

PER = {"label": "per_label", "pair": "per_pair", "note": "per_note", "round": "per_round"}
# The number of printed lines of a breakdown; --json gives all.
LINES = 40
Json = dict[str, Any]


class Command(JourneyCommand):
    help = (
        "Show the agreement of a project's annotators on their submitted, blind annotations: observed agreement, "
        "Krippendorff's alpha with its bootstrap interval, kappas, F1, and the estimated share of missed spans."
    )

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("--unit", choices=list(ComparedUnit), default=ComparedUnit.TOKEN)
        parser.add_argument("--granularity", choices=list(Granularity), default=Granularity.SUBCATEGORY)
        parser.add_argument(
            "--per",
            choices=list(PER),
            action="append",
            default=[],
            help="Also break the figures down by this. Repeat the option for several breakdowns.",
        )
        parser.add_argument("--tokenizer", default="", choices=["", *KINDS], help=TOKENIZER_HELP)
        parser.add_argument(
            "--table",
            type=Path,
            metavar="FILE",
            help="Also write the units with each annotator's value to this CSV file, which must not exist.",
        )

    def needs_for(self, options: Mapping[str, Any]) -> Needs:
        return Can.EXPORT if options["table"] else Can.READ_NOTES

    def act(self, actor: User | None, **options: Any) -> Json:
        project = find_project(options["project"])
        unit, granularity = ComparedUnit(options["unit"]), Granularity(options["granularity"])
        if granularity not in granularities(unit):
            raise ServiceError(
                "BIO tags need the unit “token” or “marked”. Choose one of them with --unit.", code="granularity"
            )
        with progress_bar("Computing agreement") as progress:
            found = figures_of(project=project, unit=unit, tokenizer=options["tokenizer"], progress=progress)
        access = entered(actor, project, Can.READ_NOTES) if actor else None
        names = shown_names(access, found["annotators"]) if access else annotator_names(project)
        result = _summary(project, found, granularity, names)
        if options["table"]:
            hidden = access is not None and access.unnamed
            lines = table_lines(project, unit, granularity, hidden=hidden, tokenizer=options["tokenizer"])
            _write(options["table"], lines)
        for per in options["per"]:
            result[PER[per]] = _breakdown(project, found, granularity, per, names)
        return result

    def say(self, result: Json) -> str:
        names = f"{UNITS[ComparedUnit(result['unit'])][0]} · {GRANULARITIES[Granularity(result['granularity'])]}"
        names += f" · {result['tokenizer']}" if result["tokenizer"] else ""
        head = f"{names} · {result['units']} units in {result['notes']} notes"
        if result["observed"] is None:
            return f"{head}: undefined. {result['undefined']}"
        alpha = f"undefined ({result['undefined']})" if result["alpha"] is None else f"{result['alpha']:.4f}"
        if result["alpha_interval"]:
            alpha += " ({:.4f} to {:.4f})".format(*result["alpha_interval"])
        words = f" ({result['words']})" if result["words"] else ""
        lines = [f"{head}, {result['annotators']} annotators: observed {result['observed']:.4f}, alpha {alpha}{words}"]
        for name in PER.values():
            for row in result.get(name, [])[:LINES]:
                lines.append("  " + ", ".join(f"{key} {_short(value)}" for key, value in row.items()))
        return "\n".join(lines)


def _write(path: Path, lines: Iterable[str]) -> None:
    try:
        with path.open("x", encoding="utf-8", newline="") as file:
            file.writelines(lines)
    except OSError as error:
        raise ServiceError(f"Can't write “{path}”: {error.strerror}. Choose another path.", code="out") from error


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return _short(value["value"]) if value["value"] is not None else f"undefined ({value['why']})"
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _summary(project: Project, found: KeptFigures, granularity: Granularity, names: dict[str, str]) -> Json:
    report = found["granularities"][granularity]
    alpha, observed = report["alpha"], report["observed"]
    out = left_out(project)
    return {
        "observed": observed["value"],
        "alpha": alpha["value"],
        "units": report["units"],
        "annotators": len(found["annotators"]),
        "unit": found["unit"],
        "tokenizer": found["tokenizer"],
        "granularity": str(granularity),
        "words": None if alpha["value"] is None else in_words(alpha["value"]),
        "undefined": alpha["why"],
        "alpha_interval": _interval(alpha),
        "observed_interval": _interval(observed),
        "no_interval": alpha["no_interval"],
        "interval": found["interval"],
        "fleiss": report["fleiss"],
        "full": report["full"],
        "majority": report["majority"],
        "unmarked": report["unmarked"],
        "marked": report["marked"],
        "recall": _named_recall(found["recall"], names),
        "notes": found["notes"],
        "mixed_rounds": found["mixed"],
        "annotator_names": sorted(names[pk] for pk in found["annotators"]),
        "not_blind": out.not_blind,
        "seeded": out.seeded,
        "drafts": out.drafts,
    }


def _interval(figure: Figure) -> list[float] | None:
    low, high = figure["low"], figure["high"]
    return None if low is None or high is None else [low, high]


def _named_recall(recall: Mapping[str, Recall], names: dict[str, str]) -> dict[str, Recall]:
    return {
        matching: {**figures, "each": [{**row, "annotator": names[row["annotator"]]} for row in figures["each"]]}
        for matching, figures in recall.items()
    }


def _breakdown(
    project: Project, found: KeptFigures, granularity: Granularity, per: str, names: dict[str, str]
) -> Sequence[Mapping[str, object]]:
    report = found["granularities"][granularity]
    if per == "label":
        return [{"label": row["value"], **row} for row in report["labels"]]
    if per == "round":
        return list(report["rounds"])
    if per == "pair":
        return [{**row, "a": names[row["a"]], "b": names[row["b"]]} for row in report["pairs"]]
    table = notes_of(project, found, granularity)
    called = dict(Document.objects.filter(project=project).values_list("pk", "name"))
    return [{**row, "name": called.get(row["note"], "")} for row in table.named(table.rows)]
