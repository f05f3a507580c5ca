"""Pages of policies: the list, and the editor with the changes of each version."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from annotations.core.access import Access, Can
from annotations.core.forms import error_beside
from annotations.core.labels import label_rows
from annotations.core.requests import FORM, Request, in_project
from annotations.models import Label, ReleasePolicy
from annotations.notes.selectors.in_context import LabelLook, label_looks
from annotations.release.forms.policies import PolicyForm, history_of, offered_policies, offered_policy
from annotations.release.services import policies
from annotations.text.names import whole_number

# From here, the labels of a policy are in two columns.
MANY_LABELS = 12


@in_project(Can.RELEASE)
def release_policies(request: Request, access: Access) -> HttpResponse:
    """List the policies of the project with their versions."""
    offered = offered_policies(access.project)
    return render(request, "release/policies.html", {"policies": offered})


@in_project(Can.RELEASE, *FORM)
def release_policy(request: Request, access: Access, policy: str) -> HttpResponse:
    """The editor. A POST saves the next version; with `example` it answers with the example of one label."""
    offered = offered_policy(access.project, policy)
    current = offered.row
    labels = list(label_rows(access.project.pk).select_related("category"))
    rules = policies.read_policy(current.rules).rules
    form = PolicyForm(request.POST if request.method == "POST" else None, labels=labels, rules=rules, name=current.name)
    if request.method == "POST":
        if "example" in request.POST:
            return _example(request, access, form, labels)
        saved = _saved(request, access, form, current)
        if saved is not None:
            return saved
    context = {
        "policy": current,
        "name": offered.name,
        "text": offered.text,
        "form": form,
        "columns": _columns(_rows(access, form)),
        "missing": [label.name for label in labels if label.code not in rules],
        "versions": history_of(access.project, current.slug),
    }
    return render(request, "release/policy.html", context, status=422 if form.is_bound else 200)


def _rows(access: Access, form: PolicyForm) -> list[dict[str, Any]]:
    """The row of each label in the editor. `first`: the first of its category."""
    looks, rules = label_looks(access.project), form.shown_rules()
    rows: list[dict[str, Any]] = []
    category = None
    for fields in form.rows():
        label = fields.label
        look = looks.get(label.code) or LabelLook(label.code, label.name)
        example = policies.example_of(rules.get(label.code), label.placeholder)
        rows.append({"fields": fields, "look": look, "example": example, "first": label.category_id != category})
        category = label.category_id
    return rows


def _columns(rows: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The rows in two columns of about the same length, where there are many. The second begins with a category."""
    if len(rows) < MANY_LABELS:
        return [rows]
    starts = [at for at, row in enumerate(rows) if at and row["first"]]
    middle = min(starts, key=lambda at: abs(2 * at - len(rows)), default=len(rows) // 2)
    return [rows[:middle], rows[middle:]]


def _example(request: Request, access: Access, form: PolicyForm, labels: list[Label]) -> HttpResponse:
    """The example of one label as its fields are now."""
    label = next((one for one in labels if one.code == request.POST["example"]), None)
    if label is None:
        raise Http404("This label does not exist.")
    shown = policies.example_of(form.shown_rules().get(label.code), label.placeholder)
    return render(request, "release/policy_example.html", {"example": shown})


def _saved(request: Request, access: Access, form: PolicyForm, current: ReleasePolicy) -> HttpResponse | None:
    """Save the next version, or with `act` copy a new policy, or put the reason why not into the form."""
    copies = request.POST.get("act") == "copy"
    if copies:
        for field in ("new_name", "new_slug"):
            if not request.POST.get(field, "").strip():
                form.add_error(field, _("Fill in name and short name of the new policy."))
    elif request.POST.get("new_name", "").strip() or request.POST.get("new_slug", "").strip():
        form.add_error("new_name", _("To save a new policy, choose “Save as a new policy”. Otherwise clear its names."))
    if not form.is_valid():
        return None
    with error_beside(form, {"slug": "new_slug", "name": "new_name"} if copies else None):
        saved = policies.save_policy(
            project=access.project,
            slug=form.cleaned_data["new_slug"] if copies else current.slug,
            name=form.cleaned_data["new_name"] if copies else form.cleaned_data["name"],
            rules=policies.with_merged(access.project, form.rules()),
            actor=access.user,
            new=copies,
            basis=current.basis if copies else "",
            seen=None if copies else _seen(request),
        )
        if copies:
            messages.success(request, _("The policy “%(name)s” is saved.") % {"name": saved.name})
        elif saved.pk == current.pk:
            messages.info(request, _("Nothing has changed, so no new version was saved."))
        else:
            messages.success(request, _("Version %(version)s is saved.") % {"version": saved.version})
        return redirect("release_policy", access.slug, saved.slug)
    return None


def _seen(request: Request) -> int:
    """The version that the form showed; one that never exists where the request names none."""
    seen = whole_number(request.POST.get("seen", ""))
    return -1 if seen is None else seen
