from typing import Any

from django.core.management.base import CommandParser

from annotations.core.commands import JourneyCommand, find_project
from annotations.domain.splits import Side
from annotations.gold.management.commands.diff_gold import find_version
from annotations.gold.services.splitting import split_version
from annotations.models import User


class Command(JourneyCommand):
    help = (
        "Split a frozen gold version into train, dev and test by patient. The same seed keeps every patient's side "
        "from version to version."
    )

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("version", metavar="VERSION", type=int)
        parser.add_argument("--seed", required=True)
        for side, share in zip(Side, (80, 10, 10), strict=True):
            parser.add_argument(f"--{side}", type=int, default=share, metavar="PERCENT", help=f"of the notes ({share})")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        split = split_version(
            version=find_version(find_project(options["project"]), options["version"]),
            seed=options["seed"],
            shares={side: options[side] for side in Side},
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
        word = "split" if result["new"] else "was split so already"
        parts = [f"{side} {result['notes'][side]} notes of {result['patients'][side]} patients" for side in Side]
        lines = [f"gold version {result['version']} {word}: {', '.join(parts)}"]
        if result["kept"]:
            lines.append(f"{result['kept']} patients kept the side that they had by this seed")
        return "\n".join(lines)
