from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, find_project
from annotations.models import User
from annotations.scores.rules.intervals import with_interval
from models_runtime.runs.services.loop import loop_answer


class Command(JourneyCommand):
    help = "Show the loop of a project by round: gold, model, F1 on the hold-out, actions per span, seconds per note."
    needs = Can.READ_NOTES

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        return loop_answer(find_project(options["project"]))

    def say(self, result: dict[str, Any]) -> str:
        lines = [_line(each) for each in result["rounds"]]
        lines.append(
            f"Now: {result['gold_notes']} gold notes, {result['left']} remaining notes, "
            f"{result['held_out'] or 0} held-out notes. Next step: {result['next'] or 'none'}"
        )
        return "\n".join(lines)


def _line(each: dict[str, Any]) -> str:
    gold = f"{each['gold_notes']} notes, {each['gold_spans']} spans" if each["gold_notes"] is not None else "no version"
    if each["model"] is None:
        model = "no model"
    elif each["f1"] is None:
        model = f"model {each['model']}, no held-out notes"
    else:
        model = f"model {each['model']}, {with_interval(each['f1'], each['few_notes'])}"
        if not each["comparable"]:
            model += " (not comparable: other notes)"
    acts = "no note finished" if each["acts_per_span"] is None else f"{each['acts_per_span']:.3f} actions per span"
    seconds = "" if each["seconds_per_note"] is None else f", {each['seconds_per_note']:.0f} s per note"
    return f"Round {each['round']}: gold {gold}; {model}; {each['notes_reviewed']} notes reviewed, {acts}{seconds}"
