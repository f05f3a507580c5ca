from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import ProjectCommand
from annotations.core.services import ServiceError
from annotations.models import Project, Release, User
from annotations.records.services.files import deidentify_file
from annotations.release.services.certificates.signing import certify
from annotations.release.services.policies import parsed_policy, policy_named
from models_runtime.runs.services.records import deidentify_folder, read_records


class Command(ProjectCommand):
    help = (
        "De-identify structured records by the active schemas. Records with free text wait for the review of their "
        "notes. Give the command again afterwards; nothing is stored twice."
    )
    needs = Can.RELEASE

    def arguments(self, parser: CommandParser) -> None:
        about = (
            "File of records: .ndjson, .jsonl, .json or .parquet. Or a folder of Parquet files with the column record, "
            "which is read by several processes; records with free text are left out."
        )
        parser.add_argument("source", type=Path, metavar="IN", help=about)
        about = (
            "New file, with one of the same endings, or a folder. The signed manifest of a file is written next to it."
        )
        parser.add_argument("out", type=Path, metavar="OUT", help=about)
        about = "Type of the records that don't state one."
        parser.add_argument("--type", default="", dest="data_type", metavar="TYPE", help=about)
        about = "A run, a backend or a trained model that reads free text; it is run on the notes that are new."
        parser.add_argument("--run", default="", metavar="NAME", help=about)
        about = "Short name of the release policy. Default: mask."
        parser.add_argument("--policy", default="mask", metavar="NAME[:VERSION]", help=about)
        about = "Let the run decide about free text. Without it, the setting of the project or the schema decides."
        parser.add_argument("--unreviewed", action="store_true", help=about)
        about = "Sign the file's release, and write its certificate: as PDF if the name ends in .pdf, else as JSON."
        parser.add_argument("--certificate", type=Path, metavar="FILE", help=about)

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        certificate: Path | None = options["certificate"]
        if certificate is not None and certificate.exists():
            raise ServiceError(f"“{certificate}” exists. Nothing was written. Choose another file.", code="out")
        result = self._written(project, actor, **options)
        if certificate is not None and result["release"] is not None:
            release = Release.objects.select_related("project", "policy").get(project=project, number=result["release"])
            as_json, as_pdf = certify(release, actor)
            certificate.write_bytes(as_pdf if certificate.suffix.lower() == ".pdf" else as_json)
        return result

    def _written(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        policy = policy_named(project, *parsed_policy(options["policy"]), actor=actor)
        if options["source"].is_dir():
            return deidentify_folder(
                project=project, source=options["source"], target=options["out"], policy=policy,
                data_type=options["data_type"], actor=actor,
            )  # fmt: skip

        def read(notes: Sequence[int]) -> list[str]:
            return read_records(project=project, name=options["run"], notes=notes, actor=actor)

        report = deidentify_file(
            project=project,
            source=options["source"],
            out=options["out"],
            policy=policy,
            actor=actor,
            data_type=options["data_type"],
            unreviewed=options["unreviewed"],
            read=read if options["run"] else None,
        )
        return asdict(report)
