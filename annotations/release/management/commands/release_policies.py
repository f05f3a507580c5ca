from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, find_project, read_rows, write_rows
from annotations.core.errors import ServiceError
from annotations.core.forms import valid
from annotations.core.labels import label_rows
from annotations.formats.files.csv_files import CsvRow
from annotations.models import Project, ReleasePolicy, User
from annotations.release.forms.policies import PolicyForm
from annotations.release.rules.redaction.policy import Action, IdentifierType
from annotations.release.services.policies import missing_labels, policies_of, save_policy, with_merged

COLUMNS: Final = ("label", "kind", "action", "numbered")
NEEDED: Final = ("label", "action")
YES_OR_NO: Final = {"yes": True, "no": False, "": False}


class Command(JourneyCommand):
    help = (
        "List the policies of a project for --policy, with what each does with every label; or write the rules of one "
        f"to a CSV file, or save its next version from such a file. kind is one of {', '.join(IdentifierType)}; action "
        f"one of {', '.join(Action)}; “yes” in the column numbered counts masked entities of a note."
    )
    needs = Can.RELEASE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="Short name of the project.")
        parser.add_argument("policy", metavar="POLICY", nargs="?", help="Short name of a policy, or of a new one.")
        act = parser.add_mutually_exclusive_group()
        act.add_argument(
            "--from", dest="source", metavar="FILE", type=Path,
            help="Read rules from a CSV file. Labels that the file lacks keep their rule.",
        )  # fmt: skip
        act.add_argument("--write", metavar="FILE", type=Path, help="Write the rules to a new file.")
        parser.add_argument("--name", help="With --from: name of the policy. Required for a new one.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"])
        policies = policies_of(project)
        slug = options["policy"]
        if slug is None and (options["source"] or options["write"]):
            raise ServiceError("Name the policy. Without options this command lists them.", code="policy")
        if options["name"] is not None and not options["source"]:
            raise ServiceError("--name must be used with --from FILE.", code="name")
        found = next((one for one in policies if one.slug == slug), None)
        if options["source"]:
            saved = _save(project, slug, found, options["name"], read_rows(options["source"], NEEDED), actor)
            return {"policies": [_described(project, saved)]}
        if slug is not None and found is None:
            known = ", ".join(one.slug for one in policies)
            raise ServiceError(f"There is no policy “{slug[:80]}”. Policies: {known}.", code="policy")
        if options["write"] and found is not None:
            return {"file": str(options["write"]), "written": write_rows(options["write"], COLUMNS, _cells(found))}
        return {"policies": [_described(project, one) for one in ([found] if found else policies)]}

    def say(self, result: dict[str, Any]) -> str:
        if "file" in result:
            return f"Wrote the rules of {result['written']} labels to {result['file']}."
        lines = []
        for policy in result["policies"]:
            saved = f"version {policy['version']}" if policy["version"] else "as shipped"
            lines.append(f"{policy['policy']}: {policy['name']} ({saved})")
            if policy["unmapped"]:
                lines.append(f"  Labels without a rule: {', '.join(policy['unmapped'])}")
        return "\n".join(lines)


def _described(project: Project, policy: ReleasePolicy) -> dict[str, Any]:
    return {
        "policy": policy.slug,
        "version": policy.version,
        "name": policy.name,
        "actions": {code: rule["action"] for code, rule in policy.rules.items()},
        "unmapped": missing_labels(project, policy.rules),
    }


def _cells(policy: ReleasePolicy) -> Iterable[Sequence[object]]:
    """A row for each label that is not merged; merged labels follow the label that they are now."""
    for code in label_rows(policy.project_id).values_list("code", flat=True):
        rule = policy.rules.get(code, {"kind": "", "action": "", "numbered": False})
        yield code, rule["kind"], rule["action"], "yes" if rule["numbered"] else ""


def _save(
    project: Project,
    slug: str,
    before: ReleasePolicy | None,
    name: str | None,
    rows: Sequence[CsvRow],
    actor: User | None,
) -> ReleasePolicy:
    if name is None and before is None:
        raise ServiceError("A new policy needs a name. Give it with --name NAME.", code="name")
    rules: dict[str, dict[str, object]] = {code: dict(rule) for code, rule in before.rules.items()} if before else {}
    labels = list(label_rows(project.pk).select_related("category"))
    codes = {label.code for label in labels}
    for row in rows:
        code, numbered = row.text("label"), row.text("numbered").lower()
        if code not in codes or numbered not in YES_OR_NO:
            wrong = (
                f"There is no label “{code[:80]}”." if code not in codes else "The column “numbered” must be yes or no."
            )
            raise ServiceError(f"Line {row.line}: {wrong} Nothing was saved.", code="row")
        rule = rules.setdefault(code, {})
        rule |= {part: row.text(part) for part in ("kind", "action") if row.text(part)}
        if "numbered" in row.cells:
            rule["numbered"] = YES_OR_NO[numbered]
    chosen = name if name is not None or before is None else before.name
    form = PolicyForm.filled(labels, rules, chosen or "", "" if before else slug)
    valid(form)
    return save_policy(
        project=project, slug=slug, name=chosen or "", rules=with_merged(project, form.rules()), actor=actor,
        new=before is None,
    )  # fmt: skip
