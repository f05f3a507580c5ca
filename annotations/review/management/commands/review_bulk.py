from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.core.management.base import CommandParser
from django.db import transaction
from django.http import Http404
from ninja import Schema

from annotations.core.access import Access, Can
from annotations.core.commands import ProjectCommand, entered, find_label
from annotations.core.forms import valid
from annotations.core.services import ServiceError
from annotations.gold.services.splitting import wanted_set
from annotations.jobs.waiting import end
from annotations.models import BulkAct, Job, Project, SuggestedString, User
from annotations.notes.api import codes_of
from annotations.review.api.bulk import BulkItem, StringItem, with_preview
from annotations.review.api.reviewing import coded
from annotations.review.forms import BulkForm
from annotations.review.selectors.bulk_rules import act_for, acts_in, rule_of
from annotations.review.selectors.reviewing import chosen_runs, run_authors
from annotations.review.selectors.suggested_strings import as_waiting, strings
from annotations.review.services.bulk import plan_bulk, plan_string, start_bulk, start_undo
from annotations.text.names import MAX_ID

RECENT = 20


class Command(ProjectCommand):
    help = (
        "Accept or reject many open suggestions at once: by confidence, by agreement of several runs, or all of one "
        "string. Notes that already have gold and doubtful suggestions are skipped unless they are included. Count "
        "first with --preview. --undo undoes a bulk act. --by must name a reviewer or a manager."
    )
    needs = None

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("runs", metavar="RUN", nargs="*", help="Names or IDs. Default: all except merged lists.")
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--least", type=float, metavar="PERCENT", help="Suggestions of at least this confidence.")
        what.add_argument("--agree", type=int, metavar="N", help="Suggestions that at least N runs agree on exactly.")
        what.add_argument("--string", type=int, metavar="ID", help="All suggestions of a string that --strings lists.")
        what.add_argument("--strings", action="store_true", help="List the strings with the most open suggestions.")
        what.add_argument("--list", action="store_true", help=f"List the latest {RECENT} bulk acts, newest first.")
        what.add_argument("--undo", metavar="ID", help="Undo all decisions of a bulk act that nobody changed since.")
        parser.add_argument("--reject", action="store_true", help="Reject the suggestions. Default: accept them.")
        parser.add_argument("--label", metavar="CODE", help="Only suggestions with this label.")
        parser.add_argument("--source", metavar="NAME", help="With --least: only suggestions of this rule or model.")
        parser.add_argument("--as", dest="to", metavar="CODE", help="With --string: accept with this label.")
        parser.add_argument("--with-gold", action="store_true", help="Include notes that already have gold.")
        parser.add_argument("--with-doubtful", action="store_true", help="Include doubtful suggestions.")
        parser.add_argument("--preview", action="store_true", help="Only count; change nothing.")

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        access = entered(actor, project, Can.MAKE_GOLD)
        _check_options(options)
        codes = codes_of(access.project.pk)
        if options["list"]:
            return {"acts": [_as_json(BulkItem.of(row, codes)) for row in acts_in(access.project)[:RECENT]]}
        if options["undo"]:
            bulk = _act(access, options["undo"])
            return self._ended(access, bulk, start_undo(bulk=bulk, actor=access.user), options)
        runs = _runs(access, options["runs"])
        if options["strings"]:
            label = find_label(access.project, options["label"]).pk if options["label"] else None
            page = as_waiting(strings(runs, label=label), runs, access.project, access.user)
            return {"strings": [_as_json(item) for item in map(coded(StringItem, access), page.rows)]}
        including = {name: options[name] for name in ("with_gold", "with_doubtful")}
        if options["preview"]:
            with transaction.atomic():
                bulk = _planned(access, runs, options)
                bulk.rule = replace(rule_of(bulk.rule), **including).data()
                result = _as_json(with_preview(access, bulk))
                transaction.set_rollback(True)
            return result
        bulk = _planned(access, runs, options)
        return self._ended(access, bulk, start_bulk(bulk=bulk, actor=access.user, **including), options)

    def _ended(self, access: Access, bulk: BulkAct, job: Job | None, options: dict[str, Any]) -> dict[str, Any]:
        """Wait for the job of a large act. Raises ServiceError `job` if it did not reach its end."""
        if job is not None:
            end(job, f"Bulk act {bulk.pk}", code="job", tell=None if options["json"] else self.stderr)
        bulk.refresh_from_db()
        return _as_json(BulkItem.of(bulk, codes_of(access.project.pk)))


def _as_json(item: Schema) -> dict[str, Any]:
    return item.model_dump(mode="json")


def _check_options(options: dict[str, Any]) -> None:
    acts = options["least"] is not None or options["agree"] is not None or options["string"] is not None
    narrow = {"reject": acts, "with_gold": acts, "with_doubtful": acts, "preview": acts}
    narrow |= {"source": options["least"] is not None, "to": options["string"] is not None and not options["reject"]}
    narrow["label"] = options["strings"] or options["least"] is not None or options["agree"] is not None
    names = {"to": "--as", "with_gold": "--with-gold", "with_doubtful": "--with-doubtful"}
    if wrong := [names.get(name, f"--{name}") for name, fits in narrow.items() if options[name] and not fits]:
        raise ServiceError(f"These options don't fit together: remove {', '.join(wrong)}.", code="options")


def _runs(access: Access, names: Sequence[str]) -> list[int]:
    """The ids of the runs. Raises ServiceError `set`, also if the project has no runs."""
    ids = []
    for name in names:
        author = wanted_set(access.project, f"run:{name.removeprefix('run:')}").author
        if author is None:
            raise ServiceError(f"There is no run “{name}”.", code="set")
        ids.append(author.pk)
    found = ids or [run.pk for run in chosen_runs(access.project, ())]
    if not found:
        raise ServiceError(f"“{access.slug}” has no runs to review.", code="set")
    return sorted(set(found))


def _planned(access: Access, runs: Sequence[int], options: dict[str, Any]) -> BulkAct:
    act = BulkAct.Act.REJECT if options["reject"] else BulkAct.Act.ACCEPT
    project, user = access.project, access.user
    if options["string"] is not None:
        pk = options["string"]
        string = SuggestedString.objects.filter(author__project=project, pk=pk).first() if pk <= MAX_ID else None
        if string is None:
            raise ServiceError(f"There is no string {pk}. List them with --strings.", code="string")
        to = find_label(project, options["to"]).pk if options["to"] else None
        return plan_string(project=project, user=user, string=string, runs=runs, act=act, to=to)
    label = find_label(project, options["label"]).pk if options["label"] else ""
    data = {"kind": "threshold" if options["agree"] is None else "agreed", "source": options["source"] or ""}
    data |= {"runs": runs, "least": options["least"], "agree": options["agree"], "label": label, "act": act}
    form = BulkForm(data, access=access, runs=run_authors(project))
    valid(form)
    return plan_bulk(project=project, user=user, rule=form.rule, act=act)


def _act(access: Access, name: str) -> BulkAct:
    with suppress(ValueError, Http404):
        return act_for(access.project, UUID(name))
    raise ServiceError(f"There is no bulk act “{name[:40]}”. List them with --list.", code="bulk")
