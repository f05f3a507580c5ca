from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import ProjectCommand, add_several
from annotations.core.services import ServiceError
from annotations.exchange.services.label_mappings import labels_in_words
from annotations.exchange.services.writing import check_out
from annotations.models import LeakFinding, Project, Release, ReleaseState, User
from annotations.release.rules.certificates.released_files import MANIFEST
from annotations.release.rules.redaction.policy import IdentifierType
from annotations.release.selectors.releases import leak_counts
from annotations.release.services.certificates.signing import certify
from annotations.release.services.deciding import answer_chosen
from annotations.release.services.exporting import export_release_to_path
from annotations.release.services.files import RELEASE_FORMATS
from annotations.release.services.policies import labels_without_kind, parsed_policy
from annotations.release.services.starting import start_chosen
from annotations.release.services.waiting import prepare_here

# A replaced place may show another one, such as a part of a longer name. Later rounds mask what is still there.
ROUNDS = 4


class Command(ProjectCommand):
    help = (
        "Release de-identified text: prepare all notes with the chosen annotations, check them for leaks, and write "
        "those without open findings. Notes with open findings are held back."
    )
    needs = Can.RELEASE
    json_only = ("findings", "figures")

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--set", required=True, action="append", metavar="WHICH",
            help="Annotations: gold[:VERSION], adjudicated or run:NAME_OR_ID. Repeat it to unite several, or write "
            "union:gold:1+run:NAME.",
        )  # fmt: skip
        parser.add_argument(
            "--policy", required=True, metavar="NAME[:VERSION]",
            help="Short name of a policy, such as mask, safe-harbor, limited, surrogate, hash or remove.",
        )  # fmt: skip
        kinds = f"KIND is one of {', '.join(IdentifierType)}."
        about = f"The kind of identifier of a label that no policy knows yet. Without it, the label is masked. {kinds}"
        add_several(parser, "--label-kind", "LABEL=KIND", about)
        parser.add_argument(
            "--surrogates-by", default="", metavar="MODEL",
            help="The language model that makes surrogates, as SERVER/MODEL. Without it, rules make them.",
        )  # fmt: skip
        add_several(parser, "--search-run", "run:NAME", "The leak gate also looks for what this run suggested.")
        parser.add_argument(
            "--keep-names", action="store_true",
            help="Keep the names of the notes. Without it, each note gets a neutral name such as note-048213377150.",
        )  # fmt: skip
        parser.add_argument("--may-leave", action="store_true", help="The notes may be sent to another machine.")
        parser.add_argument("--out", required=True, type=Path, help="New or empty folder, or a .zip to create.")
        parser.add_argument("--format", default="text", choices=RELEASE_FORMATS)
        parser.add_argument("--mapping", default="", metavar="NAME", help="Write labels as in this label mapping.")
        about = "Write this code for a label of the project, whatever --mapping says."
        add_several(parser, "--map-label", "LABEL=CODE", about)
        about = "Write no spans of a label, whatever --mapping says; its text is released as the policy says."
        add_several(parser, "--skip-label", "LABEL", about)
        parser.add_argument(
            "--decide", choices=[str(answer) for answer in LeakFinding.Answer],
            help="Replace or allow everything that the leak gate finds. Without it, notes with findings are held back.",
        )  # fmt: skip
        parser.add_argument(
            "--decide-label", default="", metavar="CODE",
            help="With --decide replace: the label whose placeholder replaces findings that no label fits, or "
            "several.",
        )  # fmt: skip
        parser.add_argument("--purpose", default="", help="For what the text is released.")
        parser.add_argument("--recipient", default="", help="Who receives the text.")
        parser.add_argument(
            "--expires", type=date.fromisoformat, metavar="YYYY-MM-DD", help="Last day of the certificate."
        )
        parser.add_argument(
            "--certificate", type=Path, metavar="FILE",
            help="Sign the release, and write its certificate: as PDF if the name ends in .pdf, else as JSON.",
        )  # fmt: skip

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        out, certificate, beside = options["out"].resolve(), options["certificate"], {}
        check_out(out)
        if certificate is not None:
            certificate = certificate.resolve()
        inside = certificate is not None and certificate.is_relative_to(out) and out.suffix != ".zip"
        if inside and (certificate.suffix not in (".json", ".pdf") or certificate.name == MANIFEST):
            raise ServiceError(
                f"“{certificate.name}” can't lie among the released files. Nothing was released. Choose another name "
                "that ends in .json or .pdf.",
                code="out",
            )
        if certificate is not None and certificate.exists():
            raise ServiceError(f"“{certificate}” exists. Nothing was released. Choose another file.", code="out")
        labels = labels_in_words(
            project, mapping=options["mapping"], mapped=options["map_label"], skipped=options["skip_label"]
        )
        labels.by_code(project)
        kinds = _kinds(options["label_kind"])
        unsaid = [label.code for label in labels_without_kind(project) if label.code not in kinds]
        release = start_chosen(
            project=project,
            sets=options["set"],
            policy=parsed_policy(options["policy"]),
            maker=options["surrogates_by"],
            may_leave=options["may_leave"],
            searched_runs=options["search_run"],
            keep_names=options["keep_names"],
            kinds=kinds,
            actor=actor,
            purpose=options["purpose"],
            recipient=options["recipient"],
            expires_on=options["expires"],
        )
        prepare_here(release)
        if options["decide"]:
            self._decide(release, options["decide"], options["decide_label"], actor)
        if certificate is not None:
            as_json, as_pdf = certify(release, actor)
            release.refresh_from_db()
            signed = as_pdf if certificate.suffix.lower() == ".pdf" else as_json
            if inside:  # then the list of files covers its name
                beside = {certificate.relative_to(out).as_posix(): signed}
        exported = export_release_to_path(
            release=release, out=out, format=options["format"], actor=actor, labels=labels, beside=beside
        )
        if certificate is not None and not beside:
            certificate.write_bytes(signed)
        leaks = leak_counts(release)
        if leaks["open"]:
            self.stderr.write("Decide the open findings on the page of the release, or use --decide.")
        return {
            "notes": exported["notes"],
            "spans": exported["spans"],
            "leaks": leaks["open"],
            "held_back": exported["held_back"],
            "release": release.number,
            "policy": f"{release.policy.slug}:{release.policy.version}",
            "format": options["format"],
            "content_hash": exported["content_hash"],
            "labels": exported["labels"],
            "labels_without_kind": unsaid,
            "findings": leaks,
            "figures": release.figures,
        }

    def _decide(self, release: Release, answer: str, label: str, actor: User | None) -> None:
        for _round in range(ROUNDS):
            if not answer_chosen(release=release, answer=answer, actor=actor, label=label):
                return
            if release.state == ReleaseState.PREPARING:
                prepare_here(release)


def _kinds(said: Sequence[str]) -> dict[str, IdentifierType]:
    """The kinds of labels, given as LABEL=KIND."""
    found = {}
    for text in said:
        code, _equals, kind = text.rpartition("=")
        if not code or kind not in set(IdentifierType):
            message = f"“{text[:120]}” is not LABEL=KIND. KIND is one of: {', '.join(IdentifierType)}."
            raise ServiceError(message, code="kinds")
        found[code] = IdentifierType(kind)
    return found
