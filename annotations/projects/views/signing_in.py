"""Account pages that only explain something or lead on; all others are allauth's."""

from allauth.account import views as account
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotations.core.access import has_app
from annotations.core.requests import Request
from annotations.projects.services.accounts import shown


@login_not_required
@require_safe
def signup_closed(request: HttpRequest) -> HttpResponse:
    return render(request, "account/signup_closed.html", status=403)


@login_not_required
@require_safe
def password_forgotten(request: HttpRequest) -> HttpResponse:
    """Explain that a manager can create a one-time link, since there is no mail server."""
    return render(request, "account/password_reset.html", {"title": _("Forgotten password")})


def password_change(request: Request) -> HttpResponse:
    """allauth's page, for accounts that have a password here."""
    if not request.user.has_usable_password():
        return render(request, "account/password_elsewhere.html")
    response: HttpResponse = account.password_change(request)
    return response


@require_safe
def second_factor(request: Request) -> HttpResponse:
    """Lead to the page that is missing: set up an authenticator app, or enter a code of it."""
    if not has_app(request.user):
        return redirect("mfa_activate_totp")
    if shown(request, request.user):
        return redirect("projects")
    return redirect(f"{reverse('mfa_reauthenticate')}?{urlencode({'next': reverse('projects')})}")
