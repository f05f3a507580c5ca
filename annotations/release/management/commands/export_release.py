from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, find_project
from annotations.core.errors import ServiceError
from annotations.exchange.services.archives import check_out
from annotations.exchange.services.export_labels import labels_in_words
from annotations.models import User
from annotations.release.management.commands.leak_findings import wait_until_prepared
from annotations.release.selectors.releases import release_numbered
from annotations.release.services.certificates.signing import certify
from annotations.release.services.exporting import export_release_to_path
from annotations.release.services.files import RELEASE_FORMATS
from annotations.release.services.outdating import prepare_again


class Command(JourneyCommand):
    help = "Write the released text of an existing release, and sign the release. The command release makes a new one."
    needs = Can.RELEASE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="Short name of the project.")
        parser.add_argument("release", metavar="NUMBER", type=int, help="Number of the release.")
        parser.add_argument("out", type=Path, metavar="OUT", help="New or empty folder, or a .zip to create.")
        parser.add_argument("--format", default="text", choices=RELEASE_FORMATS)
        parser.add_argument(
            "--leave-out", action="store_true", help="Leave out notes with open findings, which are otherwise refused."
        )
        parser.add_argument(
            "--prepare", action="store_true", help="Prepare the notes again first, if surrogates were edited since."
        )
        parser.add_argument("--mapping", default="", metavar="NAME", help="Write labels as in this label mapping.")
        parser.add_argument(
            "--certificate", type=Path, metavar="FILE",
            help="Sign the release, and write its certificate: as PDF if the name ends in .pdf, else as JSON.",
        )  # fmt: skip

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"])
        release = release_numbered(project, options["release"])
        out, certificate = options["out"].absolute(), options["certificate"]
        check_out(out)
        if certificate is not None and certificate.exists():
            raise ServiceError(f"“{certificate}” exists. Nothing was written. Choose another file.", code="out")
        labels = labels_in_words(project, mapping=options["mapping"], mapped=[], skipped=[])
        labels.by_code(project)
        if options["prepare"]:
            prepare_again(release=release, actor=actor)
            wait_until_prepared(release, tell=None if options["json"] else self.stderr)
        if certificate is not None:
            as_json, as_pdf = certify(release, actor)
            certificate.write_bytes(as_pdf if certificate.suffix.lower() == ".pdf" else as_json)
            release.refresh_from_db()
        return export_release_to_path(
            release=release, out=out, format=options["format"], leave_out=options["leave_out"], actor=actor,
            labels=labels,
        )  # fmt: skip

    def say(self, result: dict[str, Any]) -> str:
        return (
            f"Release {result['release']} written as {result['format']}: {result['notes']:,} notes, "
            f"{result['spans']:,} spans. Notes held back: {result['held_back']:,}.\n"
            f"Content hash: {result['content_hash']}"
        )
