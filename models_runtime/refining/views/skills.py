"""Pages of the guidance for refining agents, which managers edit."""

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotations.core.access import Can, enter
from annotations.core.errors import ServiceError
from annotations.core.forms import add_error
from annotations.core.requests import Request
from models_runtime.backends.refining.state import NAME, title_of
from models_runtime.refining.forms.skills import SkillForm
from models_runtime.refining.selectors.skills import described, present, versions
from models_runtime.refining.services.skills import set_skill


@require_safe
def skills(request: Request, slug: str) -> HttpResponse:
    access = enter(request.user, slug, Can.MANAGE)
    return render(request, "refining/skills/skills.html", {"access": access, "skills": described(access.project)})


@require_http_methods(["GET", "HEAD", "POST"])
def skill(request: Request, slug: str, name: str) -> HttpResponse:
    """Edit a skill. If somebody else saved in the meantime, nothing is saved and the page shows both versions."""
    access = enter(request.user, slug, Can.MANAGE)
    project = access.project
    if not NAME.fullmatch(name):
        raise Http404
    labels, text, version = present(project, name)
    now = {"labels": " ".join(labels), "text": text, "seen_version": version}
    form = SkillForm(request.POST if request.method == "POST" else None, initial=now)
    stale = False
    if request.method == "POST" and form.is_valid():
        try:
            saved = set_skill(
                project=project,
                name=name,
                labels=form.cleaned_data["labels"],
                text=form.cleaned_data["text"],
                actor=request.user,
                seen_version=form.cleaned_data["seen_version"],
            )
            messages.success(request, _("Saved as version %(n)d.") % {"n": saved})
            return redirect("skills", slug)
        except ServiceError as error:
            labels, text, version = present(project, name)
            if text == form.cleaned_data["text"].strip() and sorted(labels) == sorted(form.cleaned_data["labels"]):
                # The same text is already saved, as after a double click.
                return redirect("skills", slug)
            stale = error.code == "stale"
            add_error(form, error)
    context = {
        "access": access,
        "form": form,
        "name": name,
        "title": title_of(name, text),
        "stale": stale,
        "theirs": text,
        "seen": version if stale or not form.is_bound else form["seen_version"].value(),
        "versions": versions(project, name),
    }
    return render(request, "refining/skills/skill.html", context, status=422 if form.errors else 200)
