import statistics
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import ProjectCommand
from annotations.gold.rules import Split
from annotations.gold.selectors import frozen_version
from annotations.models import GoldVersionNote, Project, User
from models_runtime.backends.notes import groups, read

FACTORS = (1, 2, 4, 8, 16, 32)
SPLITS = (Split.TRAIN, Split.DEV, Split.TEST)


class Command(ProjectCommand):
    help = (
        "Print the mean number of tokens in a sequence of a BiLSTM-CRF, by sentences per sequence and by split of a "
        "gold version (Catelli 2021, table 3.7). Tokens and sentences are those of the app; a sequence has at most 512 "
        "tokens."
    )
    needs = Can.READ_NOTES

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--gold", type=int, required=True, metavar="N", help="Number of the gold version.")

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        version = frozen_version(project, options["gold"])
        splits = SPLITS if version.split_seed else ("",)
        lengths: dict[str, dict[int, list[int]]] = {split: {each: [] for each in FACTORS} for split in splits}
        rows = GoldVersionNote.objects.filter(version=version).order_by("document_id")
        for split, text in rows.values_list("split", "document__text").iterator(chunk_size=200):
            note = read(text)
            for factor in FACTORS:
                lengths[split if version.split_seed else ""][factor] += [
                    past - first for first, past in groups(note.text, note.tokens, factor)
                ]
        means = {
            split or "all": {str(factor): statistics.mean(found) if found else None for factor, found in own.items()}
            for split, own in lengths.items()
        }
        return {"gold": version.number, "tokens_per_sequence": means}

    def say(self, result: dict[str, Any]) -> str:
        means = result["tokens_per_sequence"]
        head = f"{'sentences':>10}" + "".join(f"{split:>12}" for split in means)
        cells = [f"{factor:>10}" + "".join(_cell(own[str(factor)]) for own in means.values()) for factor in FACTORS]
        return "\n".join([head, *cells])


def _cell(mean: float | None) -> str:
    return f"{mean:>12.4f}" if mean is not None else f"{'–':>12}"
