from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.commands import JourneyCommand, RequiredStanding
from annotations.core.services import ServiceError
from annotations.models import User
from annotations.release.rules.certificates.signatures import MOST_BYTES
from annotations.release.rules.certificates.verifying import CheckState
from annotations.release.services.certificates.verifying import files_at, verify_certificate

MARKS = {CheckState.PASSED: "ok", CheckState.FAILED: "FAILED", CheckState.NOT_CHECKED: "not checked"}


class Command(JourneyCommand):
    help = (
        "Verify a certificate: its signature, key and expiry, whether a newer one replaces it, and whether a folder or "
        "zip holds exactly the certified notes. The exit status is 1 if a check fails."
    )
    needs = RequiredStanding.SIGN_IN

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path, help="The certificate, as JSON or PDF.")
        parser.add_argument("--release", metavar="DIR", type=Path, help="Folder or zip with the released notes.")
        parser.add_argument(
            "--key", default="", metavar="FINGERPRINT", help="Trust this key only, instead of this instance's keys."
        )

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        path = options["file"]
        try:
            with path.open("rb") as file:
                data = file.read(MOST_BYTES + 1)
        except OSError as error:
            raise ServiceError(f"Can't read “{path}”: {error.strerror}.", code="path") from error
        files = files_at(options["release"]) if options["release"] else None
        verdict = verify_certificate(data, files, options["key"])
        result = verdict.as_dict()
        if not verdict.verified:
            failed = [check.message for check in verdict.checks if check.state is CheckState.FAILED]
            result["failed"] = "Not verified. " + " ".join(failed)
        return result

    def say(self, result: dict[str, Any]) -> str:
        lines = []
        for check in result["checks"]:
            lines.append(f"{MARKS[CheckState(check['state'])]}: {check['message']}")
            lines += [f"    {name}" for name in check["names"]]
        if result["verified"]:
            lines.append(f"Verified: certificate {result['certificate']} of release {result['release']}.")
        return "\n".join(lines)
