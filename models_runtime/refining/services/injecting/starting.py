"""Start the injection of errors into a copy of a frozen gold version. The work itself is in injecting.jobs."""

import io
from collections.abc import Sequence
from typing import Final

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError, good_name
from annotations.formats.files.csv_files import RowError
from annotations.jobs.services.queue import enqueue, key_of, started_with
from annotations.models import Author, AuthorKind, GoldVersion, Project, User
from annotations.projects.selectors.labels import accepted_labels
from models_runtime.models import InjectedRun, SystemicError
from models_runtime.refining.events import ERRORS_INJECTED
from models_runtime.refining.rules.drawing import LEAST_RATE, MOST_RATE
from models_runtime.refining.rules.rules import InjectionRule, missing
from models_runtime.refining.rules.systemic import PREFIX
from models_runtime.refining.rules.vocabulary import CSV, LOG, Term, read_terms
from models_runtime.refining.selectors.injecting import has_rejections, labels_for

KIND: Final = "inject"
STEM: Final = "injected"
ALL: Final = "all"
MOST_SEED: Final = 2**31 - 1


def start_injection(
    *,
    version: GoldVersion,
    actor: User | None,
    rules: Sequence[str] = (ALL,),
    rate: float = 0.1,
    seed: int = 7,
    name: str = "",
    terms: Sequence[Term] = (),
    key: str,
) -> InjectedRun:
    """Start to inject errors: `rate` errors for each gold span of the version, drawn in turn by rule.

    `terms` is a vocabulary of errors, which makes the rule `csv`. A repeated call with the same `key` returns the same
    run. Raises ServiceError `rules`, `log` without rejected suggestions, `rate`, `seed`, `empty` for a version without
    spans, and `exists` for a name in use.
    """
    project = version.project
    existing = started_with(InjectedRun, project, KIND, key)
    if existing is not None:
        return existing
    chosen = [*_rules(project, rules, bare=not terms), *([CSV] if terms else [])]
    if not LEAST_RATE <= rate <= MOST_RATE:  # also refuses NaN
        raise ServiceError(
            _("Errors per gold span must be between %(least)s and %(most)s.")
            % {"least": LEAST_RATE, "most": MOST_RATE},
            code="rate",
        )
    if not 0 <= seed <= MOST_SEED:
        raise ServiceError(_("The seed must be a whole number from 0 to %(most)s.") % {"most": MOST_SEED}, code="seed")
    if not version.span_count:
        raise ServiceError(
            _("Gold version %(number)d has no spans, so there is nothing to put errors into.")
            % {"number": version.number},
            code="empty",
        )
    name = good_name(name)
    try:
        with transaction.atomic():
            Project.objects.select_for_update().get(pk=project.pk)
            existing = started_with(InjectedRun, project, KIND, key)
            if existing is not None:  # A simultaneous request has just started it.
                return existing
            author = Author.objects.create(project=project, kind=AuthorKind.BENCH, name=name or _free_name(project))
            run = InjectedRun.objects.create(
                project=project, author=author, gold_version=version, rules=chosen, rate=rate, seed=seed,
                terms=[[term.string, term.label, term.count] for term in terms], created_by=actor,
            )  # fmt: skip
            run.job = enqueue(
                kind=KIND, project=project, params={"run_id": run.pk}, key=key_of(KIND, key), actor=actor,
                total=version.note_count,
            )  # fmt: skip
            run.save(update_fields=["job"])
            ERRORS_INJECTED.record(
                actor=actor,
                project_id=project.pk,
                data={
                    "author": author.pk, "gold": version.number, "rules": run.rules, "rate": rate, "seed": seed,
                },
            )  # fmt: skip
    except IntegrityError as error:
        raise ServiceError(
            _("A run of injected errors named “%(name)s” already exists. Choose another name.") % {"name": name},
            code="exists",
        ) from error
    return run


def _rules(project: Project, wanted: Sequence[str], *, bare: bool) -> list[str]:
    """The names of the rules that can make errors here, in their order. Raises ServiceError `rules` and `log`.

    `bare`: nothing else makes errors, so at least one rule is needed.
    """
    names = {word.strip() for word in wanted} - {""}
    systemic = [PREFIX + name for name in SystemicError.objects.filter(project=project).values_list("name", flat=True)]
    choices = [ALL, *InjectionRule, *sorted(systemic), LOG]
    unknown = sorted(names.difference(choices))
    if unknown or (bare and not names):
        raise ServiceError(
            _("Choose rules from: %(choices)s. Unknown: %(unknown)s.")
            % {"choices": ", ".join(choices), "unknown": ", ".join(unknown) or _("none is named")},
            code="rules",
        )
    if LOG in names and not has_rejections(project):
        raise ServiceError(
            _("The decision log has no rejected suggestion yet. Review a run first, or leave out the rule “log”."),
            code="log",
        )
    asked = [rule for rule in InjectionRule if ALL in names or rule in names]
    lacking = missing(labels_for(project), asked)
    others = [rule for rule in choices[len(InjectionRule) + 1 :] if rule in names or (ALL in names and rule != LOG)]
    possible = [*(str(rule) for rule in asked if rule not in lacking), *others]
    if lacking and (ALL not in names or (bare and not possible)):
        raise ServiceError(
            _("These rules need labels that the project lacks: %(rules)s. Choose other rules.")
            % {"rules": "; ".join(f"{rule} ({', '.join(kinds)})" for rule, kinds in lacking.items())},
            code="rules",
        )
    return possible


def terms_in(project: Project, content: str, file: str) -> list[Term]:
    """Read a vocabulary of errors from the content of a CSV file. Raises ServiceError `vocabulary`."""
    _accepted, ids = accepted_labels(project)
    try:
        return read_terms(iter(io.StringIO(content, newline="")), ids)
    except RowError as error:
        raise ServiceError(f"{file}: {error}", code="vocabulary") from error


def _free_name(project: Project) -> str:
    taken = set(Author.objects.filter(project=project, kind=AuthorKind.BENCH).values_list("name", flat=True))
    number = 1
    while f"{STEM}-{number}" in taken:
        number += 1
    return f"{STEM}-{number}"
