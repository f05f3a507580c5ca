"""Two account pages that only explain something; all others are allauth's."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe


@login_not_required
@require_safe
def signup_closed(request: HttpRequest) -> HttpResponse:
    return render(request, "account/signup_closed.html", status=403)


@login_not_required
@require_safe
def password_forgotten(request: HttpRequest) -> HttpResponse:
    """Explain that a manager can create a one-time link, since there is no mail server."""
    return render(request, "account/password_reset.html", {"title": _("Forgotten password")})
