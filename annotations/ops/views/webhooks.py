"""Pages of webhooks: the list with a form, and one webhook with its settings and its log of deliveries."""

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from annotations.core.access import Access, Can, enter
from annotations.core.forms import attempted, error_beside
from annotations.core.requests import Request, error_as_message, paged, wants_fragment
from annotations.models import DeliveryState, Webhook
from annotations.ops.forms import WebhookForm
from annotations.ops.selectors.webhooks import deliveries_of, delivery_of, delivery_row, webhook_of, webhook_rows
from annotations.ops.services.webhooks.webhooks import (
    add_webhook,
    change_webhook,
    remove_webhook,
    renew_secret,
    send_again,
    send_test,
    switch,
)

ROWS = 50


@require_http_methods(["GET", "HEAD", "POST"])
def webhooks(request: Request, slug: str) -> HttpResponse:
    """The webhooks of a project. A POST adds one, and only its answer shows the secret."""
    access = enter(request.user, slug, Can.MANAGE)
    form = WebhookForm(request.POST if request.method == "POST" else None, auto_id="webhook-%s")
    made = attempted(form, lambda: add_webhook(project=access.project, actor=access.user, **form.cleaned_data))
    if made:
        return _show_secret(request, access, made.webhook, made.secret, new=True)
    context = {"access": access, "rows": webhook_rows(access.project), "form": form}
    return render(request, "ops/webhooks/webhooks.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def webhook(request: Request, slug: str, pk: int) -> HttpResponse:
    """One webhook with its log. POST `do`: change, secret, on, off, test or remove."""
    access, row = _found(request, slug, pk)
    if request.method != "POST":
        form = WebhookForm(initial={"url": row.url, "kinds": row.kinds}, auto_id="webhook-%s")
        return _page(request, access, row, form)
    do = request.POST.get("do")
    if do == "change":
        return _change(request, access, row)
    if do == "secret":
        return _show_secret(request, access, row, renew_secret(webhook=row, actor=access.user), new=False)
    if do in ("on", "off"):
        switch(webhook=row, on=do == "on", actor=access.user)
        messages.success(request, _("The webhook is on.") if do == "on" else _("The webhook is off."))
    elif do == "test":
        send_test(webhook=row, actor=access.user)
        messages.success(request, _("A test is being sent. The log shows the result."))
    elif do == "remove":
        remove_webhook(webhook=row, actor=access.user)
        messages.success(request, _("The webhook was removed."))
        return redirect("webhooks", slug)
    else:
        messages.error(request, _("Unknown action. Nothing was changed. Reload the page."))
    return redirect("webhook", slug, pk)


@require_POST
def webhook_resend(request: Request, slug: str, pk: int, delivery: int) -> HttpResponse:
    """Send a delivery again."""
    access, row = _found(request, slug, pk)
    found = delivery_of(row, delivery)
    with error_as_message(request):
        send_again(delivery=found, actor=access.user)
        messages.success(request, _("The delivery is being sent again."))
    return redirect("webhook", slug, pk)


def _found(request: Request, slug: str, pk: int) -> tuple[Access, Webhook]:
    access = enter(request.user, slug, Can.MANAGE)
    row = webhook_of(access.project, pk)
    if row is None:
        raise Http404("This webhook does not exist.")
    return access, row


def _change(request: Request, access: Access, row: Webhook) -> HttpResponse:
    form = WebhookForm(request.POST, auto_id="webhook-%s")
    if form.is_valid():
        with error_beside(form):
            change_webhook(webhook=row, actor=access.user, **form.cleaned_data)
            messages.success(request, _("The webhook was changed."))
            return redirect("webhook", access.project.slug, row.pk)
    return _page(request, access, row, form)


def _page(request: Request, access: Access, row: Webhook, form: WebhookForm) -> HttpResponse:
    """The page, or for htmx only the log, which is loaded again while a delivery is about to be sent."""
    page = paged(request, deliveries_of(row), ROWS)
    rows = [delivery_row(one) for one in page]
    context = {
        "access": access,
        "webhook": row,
        "form": form,
        "page": page,
        "rows": rows,
        "live": any(one.state == DeliveryState.WAITING and not one.tried for one in page),
    }
    if wants_fragment(request) and request.method == "GET":
        return render(request, "ops/webhooks/log.html", context)
    return render(request, "ops/webhooks/webhook.html", context, status=422 if form.errors else 200)


def _show_secret(request: Request, access: Access, row: Webhook, secret: str, *, new: bool) -> HttpResponse:
    context = {"access": access, "webhook": row, "secret": secret, "new": new}
    return render(request, "ops/webhooks/secret.html", context)
