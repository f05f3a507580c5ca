from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import ProjectCommand, add_several, read_text
from annotations.core.services import ServiceError
from annotations.gold.forms import READY_MADE
from annotations.gold.rules import Split
from annotations.gold.selectors import frozen_version
from annotations.gold.services.splitting import split_by_lines, split_version
from annotations.models import Project, User


class Command(ProjectCommand):
    help = (
        "Split a frozen gold version into train, dev and test by patient. The same seed keeps every patient in "
        "the same split from version to version. --from FILE uses a ready-made split."
    )
    needs = Can.MAKE_GOLD

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("version", metavar="VERSION", type=int)
        parser.add_argument("--seed", default="", help=f"Any word. Default of a ready-made split: {READY_MADE}.")
        about = "A ready-made split: lines with a note's name or a pattern (dev/*), a comma, and train, dev or test."
        parser.add_argument("--from", dest="lines", type=Path, metavar="FILE", help=about)
        add_several(
            parser, "--notes", "PATTERN=SPLIT", "The same as a line of --from, such as 'dev/*=dev' for a folder."
        )
        for split, share in zip(Split, (80, 10, 10), strict=True):
            words = f"Percent of the notes. Default: {share}."
            parser.add_argument(f"--{split}", type=int, default=share, metavar="PERCENT", help=words)

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        version, seed = frozen_version(project, options["version"]), options["seed"]
        lines = _lines(options["lines"], options["notes"])
        if lines:
            split = split_by_lines(version=version, lines=lines, seed=seed or READY_MADE, actor=actor)
        elif not seed:
            raise ServiceError("Add --seed WORD, or --from FILE for a ready-made split.", code="seed")
        else:
            split = split_version(
                version=version, seed=seed, shares={split: options[split] for split in Split}, actor=actor
            )
        version = split.version
        about = {"version": version.number, "seed": version.split_seed, "shares": version.split_shares}
        return about | {
            "new": split.made,
            **{name: getattr(split, name) for name in ("notes", "patients", "kept", "merged")},
        }


def _lines(file: Path | None, notes: list[str]) -> str:
    """The lines of a ready-made split; empty without one. Raises ServiceError `path` or `utf8`."""
    text = "" if file is None else read_text(file, "Nothing was split.")
    text += "\n" if text and not text.endswith("\n") else ""
    return text + "".join(f"{pattern},{split}\n" for pattern, _sign, split in (word.rpartition("=") for word in notes))
