"""The page on which a release is made: annotations, policy, and a preview of one note."""

import uuid
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotations.core.access import Access, Can, enter
from annotations.core.errors import ServiceError
from annotations.core.events import NOTE_READ
from annotations.core.form_errors import add_error
from annotations.core.requests import Request, number
from annotations.domain.redaction.policy import Action
from annotations.jobs.tokens import form_token
from annotations.models import Document, Label, ReleasePolicy
from annotations.notes.selectors.in_context import label_looks
from annotations.release.forms.policies import policy_texts
from annotations.release.forms.releases import ReleaseForm
from annotations.release.selectors.beside import Marked, Row, beside
from annotations.release.services.naming import covered_notes
from annotations.release.services.policies import missing_labels, policies_of, policy_named
from annotations.release.services.previewing import preview
from annotations.release.services.sources import source_of, union_of
from annotations.release.services.starting import start_release
from annotations.surrogates.services.makers import MakerChoice, checked_maker, maker_choices
from annotations.transfer.forms.exports import SetChoice, set_choices

REFUSED_AT = {"unmapped": "policy", "set": "sets", "version": "sets", "empty": "sets", "leaves": "may_leave"}


@dataclass(frozen=True)
class OfferedPolicy:
    """A policy on the form. `value` names its version, so that a release uses the one that the page showed."""

    row: ReleasePolicy
    value: str
    name: str
    text: str
    missing: list[str]

    @property
    def has_surrogates(self) -> bool:
        return any(rule["action"] == Action.SURROGATE for rule in self.row.rules.values())


@dataclass(frozen=True)
class PreviewedNote:
    """A note as the release would show it. `missing`: names of labels without a rule; then there are no rows."""

    note: Document | None
    rows: list[Row]
    leaks: int
    previous: int | None
    following: int | None
    position: int
    total: int
    error: str = ""
    policy: OfferedPolicy | None = None


@require_http_methods(["GET", "HEAD", "POST"])
def release_new(request: Request, slug: str) -> HttpResponse:
    """The form of a new release; ?set= and ?policy= preselect. A POST previews a note, or with `act` start releases."""
    access = enter(request.user, slug, Can.RELEASE)
    sets = set_choices(access.project, without=access.closed_kinds)
    offered = offered_policies(access)
    starts = request.method == "POST" and request.POST.get("act") == "start"
    makers = maker_choices()
    form = _form(request, sets, offered, makers, bound=starts)
    if starts and form.is_valid():
        made = _start(request, access, form, offered)
        if made is not None:
            return made
    shown = None
    if request.method == "POST" and not starts:
        shown = _previewed(access, request, sets, offered)
    if request.htmx:
        return render(request, "release/preview.html", {"access": access, "shown": shown})
    context = {
        "access": access,
        "form": form,
        "sets": sets,
        "groups": _grouped(sets),
        "policies": offered,
        "makers": makers,
        "leaving": [one for one in makers if one.host],
        "chosen_maker": str(form["maker"].value() or ""),
        "chosen_sets": [str(value) for value in form["sets"].value() or []],
        "chosen_policy": str(form["policy"].value() or ""),
        "shown": shown,
    }
    return render(request, "release/new.html", context, status=422 if form.is_bound and form.errors else 200)


def offered_policies(access: Access) -> list[OfferedPolicy]:
    """The policies of the project, with the labels that each doesn't map."""
    names = dict(Label.objects.filter(label_set__project=access.project).values_list("code", "name"))
    return [
        OfferedPolicy(
            row,
            f"{row.slug}:{row.version or 1}",
            *policy_texts(row),
            [names.get(code, code) for code in missing_labels(access.project, row.rules)],
        )
        for row in policies_of(access.project)
    ]


def _grouped(sets: list[SetChoice]) -> list[tuple[str, list[SetChoice]]]:
    groups: dict[str, list[SetChoice]] = {}
    for choice in sets:
        groups.setdefault(choice.group, []).append(choice)
    return list(groups.items())


def _form(
    request: Request, sets: list[SetChoice], offered: list[OfferedPolicy], makers: list[MakerChoice], *, bound: bool
) -> ReleaseForm:
    choices: dict[str, Any] = {"sets": sets, "policies": [policy.value for policy in offered], "makers": makers}
    if bound:
        return ReleaseForm(request.POST, **choices)
    sent = request.POST if request.method == "POST" else request.GET
    specs = [choice.spec for choice in sets]
    wanted = [spec for spec in sent.getlist("sets") + request.GET.getlist("set") if spec in specs]
    policy = next((one.value for one in offered if sent.get("policy") in (one.value, one.row.slug)), "")
    initial = {
        "sets": wanted or ([] if request.method == "POST" else specs[:1]),
        "policy": policy or next((one.value for one in offered if not one.missing), offered[0].value),
        "token": request.POST.get("token") or uuid.uuid4(),
        **{name: request.POST.get(name, "") for name in ("maker", "purpose", "recipient", "expires_on")},
    }
    return ReleaseForm(initial=initial, **choices)


def _start(request: Request, access: Access, form: ReleaseForm, offered: list[OfferedPolicy]) -> HttpResponse | None:
    """Start the release, or put the reason why not into the form."""
    data = form.cleaned_data
    policy = next(one for one in offered if one.value == data["policy"])
    try:
        release = start_release(
            project=access.project,
            set_spec=union_of(data["sets"]),
            policy=policy_named(access.project, policy.row.slug, policy.row.version or 1, actor=access.user),
            actor=access.user,
            purpose=data["purpose"],
            recipient=data["recipient"],
            expires_on=data["expires_on"],
            surrogate_maker=checked_maker(
                access.project, data["maker"] if policy.has_surrogates else "", may_leave=data["may_leave"]
            ),
            token=form_token(request),
        )
    except ServiceError as error:
        add_error(form, error, REFUSED_AT)
        return None
    messages.success(request, _("Release %(number)s was started.") % {"number": release.number})
    return redirect("release", access.project.slug, release.number)


def _previewed(access: Access, request: Request, sets: list[SetChoice], offered: list[OfferedPolicy]) -> PreviewedNote:
    """Preview the note `note`, or the first one. Nothing is stored but that the note was read."""
    specs = [choice.spec for choice in sets if choice.spec in request.POST.getlist("sets")]
    policy = next((one for one in offered if one.value == request.POST.get("policy")), None)
    if not specs or policy is None:
        return _nothing(_("Choose annotations and a policy to preview a note."), policy)
    if policy.missing:
        text = _("This policy has no rule for these labels: %(labels)s. Edit the policy to release these notes.")
        return _nothing(text % {"labels": ", ".join(policy.missing)}, policy)
    try:
        notes = covered_notes(access.project, source_of(access.project, union_of(specs)))
        total, wanted = notes.count(), number(request.POST, "note") or 0
        note = notes.filter(pk__gte=wanted).first() or notes.first()
        if note is None:
            return _nothing(_("No note has these annotations."), policy)
        found = preview(project=access.project, set_spec=union_of(specs), policy=policy.row, document=note)
    except ServiceError as error:
        return _nothing(str(error), policy)
    NOTE_READ.record(
        actor=access.user, project_id=access.project.pk, document_id=note.pk, data={"what": "release preview"}
    )
    marks = [Marked(leak.start, leak.end) for leak in found.leaks]
    return PreviewedNote(
        note,
        beside(found.text, found.released.text, found.released.pieces, marks, looks=label_looks(access.project)),
        len(marks),
        notes.filter(pk__lt=note.pk).order_by("-pk").values_list("pk", flat=True).first(),
        notes.filter(pk__gt=note.pk).values_list("pk", flat=True).first(),
        notes.filter(pk__lte=note.pk).count(),
        total,
        policy=policy,
    )


def _nothing(error: str, policy: OfferedPolicy | None) -> PreviewedNote:
    return PreviewedNote(None, [], 0, None, None, 0, 0, error, policy)
