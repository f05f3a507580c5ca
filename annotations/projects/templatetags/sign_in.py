"""Tags of the sign-in page."""

from django import template
from django.conf import settings
from django.http import HttpRequest

register = template.Library()


@register.simple_tag
def password_form(request: HttpRequest) -> bool:
    """Whether to show the form for user name and password.

    Where only named accounts have a password, a link leads to it. A directory's passwords go into the same form.
    """
    named_only = settings.PASSWORD_ACCOUNTS is not None and len(settings.AUTHENTICATION_BACKENDS) < 3
    return not named_only or request.method == "POST" or "password" in request.GET
