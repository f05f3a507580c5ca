from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser

from annotations.agreement.rules.units import Granularity
from annotations.agreement.templatetags.coefficients import percent
from annotations.core.access import Can
from annotations.core.commands import ProjectCommand, authors_shown, lines_of
from annotations.core.services import ServiceError
from annotations.core.tokenizers import KINDS, TOKENIZER_HELP
from annotations.gold.rules import Split
from annotations.models import Project, User
from annotations.scores.rules.attributes import AttributeAgreement
from annotations.scores.rules.published import COUNTED_LABELS, REWRITTEN, counted_f1
from annotations.scores.rules.rates import AverageData
from annotations.scores.rules.rewritten import CountingRule
from annotations.scores.rules.scorer import THRESHOLD
from annotations.scores.rules.table import AfterPass, FullyMasked, LabelData
from annotations.scores.selectors import FOUND, LEVELS, copied_in_text
from annotations.scores.services.errors import about_score
from annotations.scores.services.scoring import score, score_request
from annotations.text.names import MAX_OFFSET, whole

EXCLUDED = {
    "drafts": "Excluded gold notes whose annotations are drafts",
    "unread": "Excluded gold notes without annotations by this author",
    "no_gold": "Excluded notes with annotations but without gold",
}
RATES = (("precision", "precision"), ("recall", "recall"), ("F1", "f1"))


class Command(ProjectCommand):
    help = "Score an author's submitted annotations against gold. --json prints all figures."
    needs = Can.READ_NOTES
    counting = CountingRule.TOKENS
    attributes = False

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--gold", default="current", metavar="VERSION", help="Number of a version, or “current”.")
        about = "Author: NAME, annotator:NAME, run:NAME or adjudicated."
        parser.add_argument("--author", required=True, metavar="NAME", help=about)
        parser.add_argument("--split", default="", choices=["", *Split], help="Only notes of this split.")
        parser.add_argument("--into", default="", metavar="SET", help="Map to the labels of another label set.")
        about = f"Lowest similarity of texts with tolerance, from 0 to 1. Default: {THRESHOLD}."
        parser.add_argument("--threshold", default="", metavar="N", help=about)
        about = "All or nothing also for these labels and categories only: CODE, label:CODE or category:CODE."
        parser.add_argument("--types", default="", metavar="A,B,…", help=about)
        parser.add_argument("--tokenizer", default="", choices=["", *KINDS], help=TOKENIZER_HELP)
        parser.add_argument("--language", default="", metavar="CODE", help="Only notes in this language, such as it.")
        parser.add_argument("--unit", choices=["entity", "token"], help="Only the levels of this unit.")
        choices = [Granularity.BINARY, Granularity.CATEGORY, Granularity.SUBCATEGORY]
        parser.add_argument("--level", choices=choices, help="Only the levels of this granularity.")
        about = "How texts are counted in the rewritten text: whole tokens, or substrings (Miranda et al. 2025)."
        parser.add_argument("--counting", default=CountingRule.TOKENS, choices=list(CountingRule), help=about)
        parser.add_argument("--attributes", action="store_true", help="Also print the agreement of attributes.")

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        wanted = score_request(
            project, version=_number(options["gold"]), author=options["author"], among=authors_shown(actor, project),
            types=[one.strip() for one in options["types"].split(",") if one.strip()],
            **{name: options[name] for name in ("split", "into", "threshold", "tokenizer", "language")},
        )  # fmt: skip
        self.counting, self.attributes = CountingRule(options["counting"]), options["attributes"]
        found = score(wanted)
        levels = [
            level
            for level in found.table["levels"]
            if options["unit"] in (None, level["unit"]) and options["level"] in (None, level["granularity"])
        ]
        return {**found.table, "levels": levels, **about_score(wanted, found)}

    def say(self, result: dict[str, Any]) -> str:
        notes = (
            f"{result['notes']} notes of the split {result['split']}" if result["split"] else f"{result['notes']} notes"
        )
        if result["language"]:
            notes += f" in {result['language']}"
        lines = [f"Scores of {result['author']} against gold {result['gold']} on {notes}"]
        if result["masking_threshold"] is not None:
            lines.append(f"Masking threshold: {result['masking_threshold']:g}")
        if result["tokenizer"]:
            lines.append(f"Tokens: {result['tokenizer']}")
        for level in result["levels"]:
            lines.append(f"{LEVELS[level['unit'], level['granularity']]}: {_rates(level['micro'])}")
            lines += [
                f"  {name}: {_average(level[key])}"
                for name, key in (("Macro average", "macro"), ("Weighted average", "weighted"))
                if level["macro"]["precision_classes"] > 1
            ]
        if result["few_notes"]:
            low, high = (percent(result["few_notes"][end]) for end in ("low", "high"))
            lines.append(f"Few notes. F1 of exact spans: 95% interval {low} to {high}.")
        lines += ["Errors by category:", *lines_of(_errors(result["errors_by_category"]), "  ")]
        lines += self._rewritten(result)
        lines += _all_or_nothing(result)
        if self.attributes:
            lines += _attributes(result["attributes"])
        lines += _fully_masked(result["labels"])
        residual = result["residual"]
        if residual["share"] is not None:
            lines.append(
                f"Notes with a missed span: {residual['with_miss']} of {residual['notes']}, "
                f"{percent(residual['share'])} (95% interval {percent(residual['low'])} to {percent(residual['high'])})"
            )
        if (leak := result["meddocan"]["leak"]) is not None:
            lines.append(
                f"Leak score: {leak:.4f} missed spans (bounds and label) per sentence, of {result['sentences']} "
                "sentences, which end at line breaks and at . ! ? or … before white space. The official MEDDOCAN "
                "script counts the sentences of FreeLing instead, so its leak score differs."
            )
        if n := result["notes_learned_from"]:
            lines.append(
                f"The model of {result['author']} was trained on {n} of these notes, so its figures are too "
                "optimistic. Score it on other notes."
            )
        if result["own_gold_spans"]:
            lines.append(copied_in_text(result["own_gold_spans"], result["author"], merged=result["merged"]))
        if result["unanswered"]:
            lines.append(f"Gold notes without a usable answer, scored as if nothing was found: {result['unanswered']}")
        lines += [f"{EXCLUDED[reason]}: {n}" for reason, n in result["left_out"].items() if n]
        return "\n".join(lines)

    def _rewritten(self, result: dict[str, Any]) -> list[str]:
        """The score of the rewritten text by the chosen rule of counting, with published figures of that rule."""
        by_substring = self.counting == CountingRule.SUBSTRING
        counted = result["rewritten_substring" if by_substring else "rewritten"]["micro"]
        lines = [
            f"Rewritten text{', counted by substring' if by_substring else ''}: "
            f"{_rates(counted)} ({counted['tp']} removed, {counted['fn']} remaining, {counted['fp']} extra)"
        ]
        if not by_substring:
            return lines
        for row in result["rewritten_substring"]["labels"]:
            lines.append(f"  {row['label']}: F1 {_shown(row['f1'])}")
        lines.append(f"  Published F1 by this rule, {REWRITTEN.corpus} ({REWRITTEN.source}):")
        lines += [
            f"    {model}: " + " · ".join(f"{name} {f1[name]:.2f}" for name in COUNTED_LABELS if name in f1)
            for model, f1 in counted_f1().items()
        ]
        return lines


def _number(gold: str) -> int:
    if gold == "current":
        return 0
    found = whole(gold, MAX_OFFSET)
    if not found:
        message = f"“{gold}” is not a gold version. Give the number of a version, or “current”."
        raise ServiceError(message, code="version")
    return found


def _errors(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each category with errors, and all: the shares of wrong and missed spans, and the causes that people gave."""
    rows = [row for row in table["categories"] if row["errors"]]
    return [
        {
            "category": row.get("category", "all"),
            "errors": row["errors"],
            "false positives": row.get("entity", {}).get("spurious_share"),
            "false negatives": row.get("entity", {}).get("missed_share"),
            **{cause: n for cause, n in row["causes"].items() if n},
        }
        for row in (*rows, *([table["all"]] if rows else []))
    ]


def _average(average: AverageData) -> str:
    def with_spread(value: float | None, spread: float | None) -> str:
        return _shown(value) + ("" if spread is None else f" (standard deviation {spread:.4f})")

    precision = with_spread(average["precision"], average["precision_spread"])
    recall = with_spread(average["recall"], average["recall_spread"])
    return f"precision {precision} · recall {recall} · F1 {_shown(average['f1'])}"


def _all_or_nothing(result: dict[str, Any]) -> list[str]:
    """The scores with tolerance, and the notes in which all gold spans, or those of the chosen labels, were found."""
    tolerant, chosen = result["tolerant"], result["all_or_nothing_chosen"]
    lines = [
        f"Text and position (similarity {tolerant['threshold']:g}), {name}: "
        + _rates(tolerant[key])
        for name, key in (
            ("any label", "any_label"), ("same category", "same_category"), ("same label", "same_label"),
        )
    ]  # fmt: skip
    for title, key in (("category", "categories"), ("label", "labels")):
        lines.append(f"Text and position by {title}:")
        lines += [f"  {row[title]}: {_rates(row['tolerant'])}" for row in result[key]]
    groups = [("Notes with all spans found", result["all_or_nothing"])]
    if chosen:
        groups.append((f"Notes with all spans of {', '.join(chosen['labels'])} found", chosen["found"]))
    for title, found in groups:
        lines.append(f"{title}:")
        for criterion, name in FOUND.items():
            one = found[criterion]
            share = "undefined" if one["share"] is None else percent(one["share"])
            lines.append(f"  {name}: {one['all_found']} of {one['notes']}, {share}")
    return lines + _by_pass(result["by_pass"])


def _fully_masked(rows: list[LabelData]) -> list[str]:
    """The notes with gold of each label in which none of it would stay readable, with the exact interval."""
    masked = [f"  {row['label']}: {_of_notes(row['fully_masked'])}" for row in rows if row["notes"]]
    return ["Fully masked notes by label:", *masked] if masked else []


def _of_notes(found: FullyMasked) -> str:
    interval = f"95% interval {percent(found['low'])} to {percent(found['high'])}"
    return f"{found['all_found']} of {found['notes']}, {percent(found['share'])} ({interval})"


def _attributes(rows: list[AttributeAgreement]) -> list[str]:
    if not rows:
        return ["Attributes: none of the matched spans has any."]
    return ["Attributes of matched spans (same value, of all; of spans with the attribute):"] + [
        f"  {row['attribute']}: {row['agree']} of {row['spans']}, {percent(row['share'])}; "
        f"{row['given_agree']} of {row['given']}"
        + ("" if row["given_share"] is None else f", {percent(row['given_share'])}")
        for row in rows
    ]


def _rates(rates: Mapping[str, Any]) -> str:
    return " · ".join(f"{word} {_shown(rates[key])}" for word, key in RATES)


def _by_pass(rows: list[AfterPass]) -> list[str]:
    """Rates of text and position and all-or-nothing recall after each pass of a run."""
    return [
        f"After {row['passes']} {'pass' if row['passes'] == 1 else 'passes'}, text and position, same category: "
        + _rates(row["tolerant"]["same_category"])
        + " · all or nothing "
        + _shown(row["all_or_nothing_pooled"]["categories"]["tolerant_category"]["share"])
        for row in rows
    ]


def _shown(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4f}"
