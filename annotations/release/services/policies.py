"""Policies of a project: shipped ones, and versions that people saved."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

from django.db import transaction
from django.utils.text import slugify
from django.utils.translation import gettext as _

from annotations.core.labels import label_rows
from annotations.core.services import ServiceError, good_name
from annotations.models import Label, Project, ReleasePolicy, User
from annotations.release.events import POLICY_SAVED
from annotations.release.rules.redaction.policy import (
    SHIPPED,
    Action,
    LabelRule,
    Policy,
    PolicyError,
    actions_for,
    basis_of,
    kinds_of,
    rules_for,
)
from annotations.release.rules.redaction.policy import IdentifierType as Kind
from annotations.release.rules.redaction.released import OperatorContext
from annotations.release.rules.redaction.releasing import release_text
from annotations.text.spans import Span

LONGEST_NAME = 80


def kinds_in(project: Project) -> dict[str, Kind]:
    """The kind of each label code of the project; merged labels are included, since frozen gold may use them.

    A label that somebody added has the kind that was given with it, or that a saved policy gives it, the newest first,
    or that of the label that it was merged into. Else it is missing.
    """
    known = dict[str, Kind]()
    for rules in ReleasePolicy.objects.filter(project=project).order_by("pk").values_list("rules", flat=True):
        known |= {code: rule.kind for code, rule in read_policy(rules).rules.items()}
    known |= kinds_of(project.label_set.key)
    given = Label.objects.filter(label_set__project=project).filter(identifier__in=list(Kind))
    known |= {code: Kind(kind) for code, kind in given.values_list("code", "identifier")}
    found: dict[str, Kind] = {}
    for code, target in _codes(project):
        kind = known.get(code) or known.get(target or "")
        if kind is not None:
            found[code] = kind
    return found


def labels_without_kind(project: Project) -> list[Label]:
    """The labels whose kind nobody has said, in the project's order, without merged ones."""
    kinds = kinds_in(project)
    return [label for label in label_rows(project.pk) if label.code not in kinds]


def completed(project: Project, policy: ReleasePolicy, said: Mapping[str, Kind] | None = None) -> ReleasePolicy:
    """The policy, unsaved, with a rule for each label of the project that it lacks.

    The rule follows the label's kind, by `said` or `kinds_in`: it is that of another label of the kind in the policy,
    or of the shipped policy. A label of no kind, or of the kind “other”, is masked.
    """
    missing = missing_labels(project, policy.rules)
    kinds = {**kinds_in(project), **(said or {})} if missing else {}
    shipped = SHIPPED[policy.slug].actions if policy.slug in SHIPPED else {}
    used = {Kind(rule["kind"]): Action(rule["action"]) for rule in policy.rules.values()}
    rules = dict(policy.rules)
    now = dict(_codes(project))
    for code in missing:
        kind = kinds.get(code) or kinds.get(now[code] or "") or Kind.OTHER
        action = Action.MASK if kind is Kind.OTHER else used.get(kind, shipped.get(kind, Action.MASK))
        rules[code] = LabelRule(kind, action).as_dict()
    return ReleasePolicy(project=project, slug=policy.slug, version=policy.version, name=policy.name, rules=rules)


def _checked_kinds(project: Project, said: Mapping[str, Kind]) -> Mapping[str, Kind]:
    kinds, codes = kinds_in(project), set(codes_of(project))
    for code, kind in said.items():
        if code not in codes or kinds.get(code, kind) != kind:
            message = _("The type of “%(label)s” can't be set here. These labels have no type yet: %(labels)s.")
            raise ServiceError(
                message % {"label": code[:80], "labels": ", ".join(sorted(codes - kinds.keys())) or "–"}, code="kinds"
            )
    return said


def codes_of(project: Project) -> list[str]:
    """All label codes of the project that annotations or frozen gold may use, in the project's order."""
    return [code for code, _target in _codes(project)]


def _codes(project: Project) -> list[tuple[str, str | None]]:
    labels = Label.objects.filter(label_set__project=project).order_by("position", "id")
    return list(labels.values_list("code", "merged_into__code"))


def missing_labels(project: Project, rules: Iterable[str]) -> list[str]:
    """The label codes of the project for which `rules` has no rule, in the project's order."""
    known = set(rules)
    return [code for code in codes_of(project) if code not in known]


def policies_of(project: Project) -> list[ReleasePolicy]:
    """The newest version of each policy: shipped ones first, then those that people added.

    A shipped policy that nobody has used or saved yet is offered as a row without a key, of version 0. Its rules lack
    the labels whose kind is not known (`missing_labels`).
    """
    newest = {row.slug: row for row in ReleasePolicy.objects.filter(project=project).order_by("slug", "version")}
    kinds = kinds_in(project) if SHIPPED.keys() - newest.keys() else {}
    found = [newest[slug] if slug in newest else _unsaved(project, slug, kinds) for slug in SHIPPED]
    return [*found, *(row for slug, row in newest.items() if slug not in SHIPPED)]


def _unsaved(project: Project, slug: str, kinds: Mapping[str, Kind]) -> ReleasePolicy:
    rules = rules_for(slug, kinds)
    for code in kinds.keys() - kinds_of(project.label_set.key).keys():
        if kinds[code] is Kind.OTHER:
            rules[code] = LabelRule(Kind.OTHER, Action.MASK)
    stored = {code: rule.as_dict() for code, rule in rules.items()}
    return ReleasePolicy(project=project, slug=slug, version=0, name=SHIPPED[slug].name, basis=slug, rules=stored)


def policy_named(
    project: Project,
    slug: str,
    version: int | None = None,
    *,
    actor: User | None = None,
    kinds: Mapping[str, Kind] | None = None,
) -> ReleasePolicy:
    """Return a policy by its short name: the newest version, or the given one.

    Saves version 1 of a shipped policy on first use, and the next version where the newest one has no rule for a label.
    `kinds`: those of labels of which nobody has said it (`completed`). Raises ServiceError `policy` with the choices if
    there is no such policy, and `kinds` for a label that has another kind or does not exist.
    """
    said = _checked_kinds(project, kinds) if kinds else {}
    rows = ReleasePolicy.objects.filter(project=project, slug=slug).order_by("-version")

    def usable() -> ReleasePolicy | None:
        """The wanted version. The newest one must have all rules, since otherwise there is a next one."""
        newest = rows.first()
        if newest is None or version is None or version == newest.version:
            return None if newest is None or missing_labels(project, newest.rules) else newest
        return rows.filter(version=version).first()

    found = usable()
    if found is not None:
        return found
    newest = rows.first()
    if version not in (None, newest.version if newest else 1) or (newest is None and slug not in SHIPPED):
        raise _unknown(project, slug, version)
    whole = completed(project, newest or _unsaved(project, slug, kinds_in(project)), said)
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        # Another request may have saved it between the search and the lock.
        return usable() or _saved(project=project, slug=slug, name=whole.name, rules=whole.rules, actor=actor)


def parsed_policy(text: str) -> tuple[str, int | None]:
    """Split `slug` or `slug:version`, as the command takes it. Raises ServiceError if the version is not a number."""
    slug, colon, number = text.partition(":")
    if colon and not (number.isascii() and number.isdigit() and len(number) < 9):
        message = _("“%(text)s” is not a policy. Write its short name, or short name and version as in mask:2.")
        raise ServiceError(message % {"text": text}, code="policy")
    return slug, int(number) if colon else None


def save_policy(
    *, project: Project, slug: str, name: str, rules: Mapping[str, LabelRule | Mapping[str, Any]], actor: User | None,
    new: bool = False, seen: int | None = None, basis: str = "",
) -> ReleasePolicy:  # fmt: skip
    """Save the next version of a policy. `rules` has a rule for each label code; others are ignored.

    `basis`: of the policy that is copied. What was once a copy of a shipped policy stays one.

    The same rules and name as in the newest version give that version. With `new`, the short name must be unused,
    unless the same request was sent before. `seen` is the version that was edited (0: a shipped policy that nobody had
    saved). Raises ServiceError: `slug` or `name` for a bad one, `unmapped` with the labels that have no rule, `policy`
    for a rule that is not possible, `changed` if somebody else has saved another version since `seen`.
    """
    name = good_name(name)
    if not name or len(name) > LONGEST_NAME:
        message = _("The name of a policy has 1 to %(most)s characters.")
        raise ServiceError(message % {"most": LONGEST_NAME}, code="name")
    if not slug or slug != slugify(slug) or len(slug) > 40:
        message = _("The short name of a policy has 1 to 40 characters: a-z, 0-9, “_” and “-”. Change it.")
        raise ServiceError(message, code="slug")
    as_dicts = {code: rule.as_dict() if isinstance(rule, LabelRule) else dict(rule) for code, rule in rules.items()}
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        saved = _saved(project=project, slug=slug, name=name, rules=as_dicts, actor=actor, seen=seen, basis=basis)
        if new and (slug in SHIPPED or saved.version > 1):
            message = _("The short name “%(slug)s” is taken. Choose another one.")
            raise ServiceError(message % {"slug": slug}, code="slug")
        return saved


def _saved(
    *, project: Project, slug: str, name: str, rules: Mapping[str, Mapping[str, Any]], actor: User | None,
    seen: int | None = None, basis: str = "",
) -> ReleasePolicy:  # fmt: skip
    """Save a version. The caller's transaction holds the project's row."""
    codes = codes_of(project)
    chosen = {code: rules[code] for code in codes if code in rules}
    policy = read_policy(chosen)
    require_total(project, policy)
    stored = {code: rule.as_dict() for code, rule in policy.rules.items()}
    newest = ReleasePolicy.objects.filter(project=project, slug=slug).order_by("-version").first()
    if newest is not None and (newest.rules, newest.name) == (stored, name):
        return newest
    before = newest.version if newest else 0
    if seen is not None and seen != before:
        raise ServiceError(
            _("This policy was changed after you opened the page. Nothing was saved. Reload the page, then edit it."),
            code="changed",
        )
    if slug in SHIPPED:
        basis = slug
    elif not basis:
        basis = (newest.basis if newest else "") or basis_of(policy.rules.values())
    row = ReleasePolicy.objects.create(
        project=project, slug=slug, version=before + 1, name=name, basis=basis, rules=stored, created_by=actor
    )
    POLICY_SAVED.record(actor=actor, project_id=project.pk, data={"policy": row.pk, "version": row.version})
    return row


def read_policy(rules: Mapping[str, Mapping[str, Any]]) -> Policy:
    """Read stored rules. Raises ServiceError `policy` for rules that are not possible."""
    try:
        return Policy.read(rules)
    except PolicyError as error:
        raise ServiceError(str(error), code="policy") from error


def require_total(project: Project, policy: Policy) -> None:
    """Raise ServiceError `unmapped` unless the policy has a rule for every label of the project.

    Raises ServiceError `policy` where a rule is not possible for the kind of its label.
    """
    missing = missing_labels(project, policy.rules)
    if missing:
        message = _("The policy has no rule for these labels: %(labels)s. Add a rule for each of them.")
        raise ServiceError(message % {"labels": ", ".join(missing)}, code="unmapped")
    require(policy, (), code="policy")


def require(policy: Policy, codes: Iterable[str], *, code: str) -> None:
    """Raise ServiceError unless the policy has a possible rule for every one of these label codes."""
    try:
        policy.require(codes)
    except PolicyError as error:
        raise ServiceError(str(error), code=code) from error


def _unknown(project: Project, slug: str, version: int | None) -> ServiceError:
    if version is not None:
        numbers = ReleasePolicy.objects.filter(project=project, slug=slug).order_by("version")
        known = ", ".join(str(number) for number in numbers.values_list("version", flat=True)) or "1"
        message = _("The policy “%(slug)s” has no version %(version)s. Versions: %(known)s.")
        return ServiceError(message % {"slug": slug, "version": version, "known": known}, code="policy")
    message = _("There is no policy “%(slug)s”. Choose one of: %(known)s.")
    return ServiceError(
        message % {"slug": slug, "known": ", ".join(policy.slug for policy in policies_of(project))}, code="policy"
    )


def with_merged(project: Project, rules: Mapping[str, LabelRule]) -> dict[str, LabelRule]:
    """The rules, and for each merged label the rule of the label that it is now. Frozen gold may use merged labels."""
    labels = {label.pk: label for label in Label.objects.filter(label_set__project=project)}
    found = dict(rules)
    for label in labels.values():
        target = label
        while target.merged_into_id is not None:
            target = labels[target.merged_into_id]
        if target.code in rules:
            found[label.code] = rules[target.code]
    return found


# An example of what a rule does, for the editor of policies.


LABEL = "EXAMPLE"


# What operators need, for an invented note in English.
_INVENTED: Final = OperatorContext(
    "en",
    days=48,
    month_first=None,
    latest_year=None,
    hashed=lambda mention: hashlib.sha256(mention.text.encode()).hexdigest()[:16],
    number=lambda _mention: 1,
    surrogate=lambda mention: mention.kind.surrogate,
)


def example_of(rule: LabelRule | None, placeholder: str) -> dict[str, str] | None:
    """An invented identifier of the rule's kind `before` and `after`, which is empty where it is removed.

    None without a rule, and where it is not possible.
    """
    if rule is None or rule.action not in actions_for(rule.kind):
        return None
    text = rule.kind.example
    spans, policy = [Span(0, len(text), LABEL)], Policy({LABEL: rule})
    released = release_text(text, spans, policy, {LABEL: placeholder}, _INVENTED)
    return {"before": text, "after": released.text}
