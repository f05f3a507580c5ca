from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, find_project
from annotations.domain.gold.splits import Split
from annotations.gold.management.commands.diff_gold import find_version
from annotations.gold.services.splitting import split_version
from annotations.models import User


class Command(JourneyCommand):
    help = (
        "Split a frozen gold version into train, dev and test by patient. The same seed keeps every patient in "
        "the same split from version to version."
    )
    needs = Can.MAKE_GOLD

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("version", metavar="VERSION", type=int)
        parser.add_argument("--seed", required=True, help="Any word.")
        for split, share in zip(Split, (80, 10, 10), strict=True):
            parser.add_argument(
                f"--{split}",
                type=int,
                default=share,
                metavar="PERCENT",
                help=f"Percent of the notes. Default: {share}.",
            )

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        split = split_version(
            version=find_version(find_project(options["project"]), options["version"]),
            seed=options["seed"],
            shares={split: options[split] for split in Split},
            actor=actor,
        )
        return {
            "version": split.version.number,
            "new": split.made,
            "seed": split.version.split_seed,
            "shares": split.version.split_shares,
            "notes": split.notes,
            "patients": split.patients,
            "kept": split.kept,
            "merged": split.merged,
        }

    def say(self, result: dict[str, Any]) -> str:
        version = result["version"]
        head = f"Split gold version {version}"
        if not result["new"]:
            head = f"Gold version {version} was already split this way"
        parts = [f"{split} {result['notes'][split]} notes of {result['patients'][split]} patients" for split in Split]
        lines = [f"{head}: {', '.join(parts)}."]
        if result["kept"]:
            lines.append(f"{result['kept']} patients kept their earlier split.")
        return "\n".join(lines)
