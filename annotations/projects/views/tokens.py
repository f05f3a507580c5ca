"""The page of a person's API tokens: list, create (shown once), revoke."""

from allauth.core.ratelimit import consume
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from annotations.core.access import SecondFactorMissing, has_app
from annotations.core.api.tokens import create_token, revoke_token
from annotations.core.errors import ServiceError
from annotations.core.forms import add_error
from annotations.core.requests import Request, paged
from annotations.projects.forms.tokens import TokenForm
from annotations.projects.selectors.tokens import line_of, projects_of, tokens_of

ROWS = 50


@require_http_methods(["GET", "HEAD", "POST"])
def tokens(request: Request) -> HttpResponse:
    """The person's tokens. A POST creates one; only its answer, which is not cached, shows the token itself."""
    posted = request.method == "POST"
    if posted and has_app(request.user) and not request.user.shown_second_factor:
        raise SecondFactorMissing  # A session from before the app was set up.
    if posted and not consume(request, action="reauthenticate", user=request.user):
        return HttpResponse(_("Too many attempts. Try again in a few minutes."), status=429)
    form = TokenForm(request.POST if posted else None, user=request.user, projects=projects_of(request.user))
    if posted and form.is_valid():
        wanted = {name: value for name, value in form.cleaned_data.items() if name != "password"}
        try:
            row, secret = create_token(user=request.user, actor=request.user, **wanted)
            return render(request, "projects/api/token_created.html", {"token": row, "secret": secret})
        except ServiceError as error:
            add_error(form, error)
    page = paged(request, tokens_of(request.user), ROWS)
    context = {"page": page, "lines": [line_of(row) for row in page], "form": form}
    return render(request, "projects/api/tokens.html", context, status=422 if form.errors else 200)


@require_POST
def revoke(request: Request, pk: int) -> HttpResponse:
    token = get_object_or_404(tokens_of(request.user), pk=pk)
    revoke_token(token=token, actor=request.user)
    messages.success(request, _("The token “%(name)s” is revoked. It gives no access any more.") % {"name": token.name})
    return redirect("api_tokens")
