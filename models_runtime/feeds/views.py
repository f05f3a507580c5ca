"""The pages of feeds."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from annotations.core.access import Access, Can
from annotations.core.forms import error_beside
from annotations.core.requests import FORM, Request, error_as_message, in_project, paged, render_part
from annotations.core.services import ServiceError
from annotations.models import Author, AuthorKind, ReleasePolicy
from annotations.release.rules.redaction.policy import SHIPPED
from models_runtime.feeds import selectors
from models_runtime.feeds.forms import FIELDS, FeedForm
from models_runtime.feeds.services.feeds import add_feed, choose_run, continue_feed, pause_feed, start_work
from models_runtime.models import Feed

ROWS = 50


@in_project(Can.RELEASE, *FORM)
def feeds(request: Request, access: Access) -> HttpResponse:
    """List the feeds of the project. A POST adds one."""
    form = FeedForm()
    if request.method == "POST":
        form = FeedForm(request.POST)
        if form.is_valid():
            with error_beside(form, FIELDS):
                made = add_feed(project=access.project, order=form.order, actor=access.user)
                return redirect("feed", access.slug, made.pk)
    own = ReleasePolicy.objects.filter(project=access.project).values_list("slug", flat=True)
    try:
        root = str(selectors.feed_root())
    except ServiceError:
        root = ""
    context = {
        "form": form,
        "root": root,
        "runs": _runs(access),
        "policies": sorted({*SHIPPED, *own}),
        "feeds": [selectors.status_of(one) for one in selectors.feeds_of(access.project)],
    }
    return render(request, "feeds/feeds.html", context, status=422 if form.errors else 200)


@in_project(Can.RELEASE, *FORM)
def feed(request: Request, access: Access, pk: int) -> HttpResponse:
    """Show what waits where in a feed, since when, and what lies in quarantine. The page asks again by itself.

    A POST does what `do` says: pause or continue the feed, look at the folder now, or choose another run.
    """
    found = selectors.feed_of(access, pk)
    if request.method == "POST":
        with error_as_message(request):
            _act(request, access, found)
        return redirect("feed", access.slug, pk)
    status = selectors.status_of(found)
    context = {
        "feed": found,
        "status": status,
        "steps": [one for one in status.steps if one.count],
        "runs": _runs(access),
        "quarantine": paged(request, selectors.quarantined(found), ROWS),
        "deltas": selectors.parts_of(found)[:ROWS],
    }
    return render_part(request, "feeds/feed.html", "feeds/feed_state.html", context)


def _act(request: Request, access: Access, found: Feed) -> None:
    act = request.POST.get("do")
    if act == "pause":
        pause_feed(feed=found, actor=access.user)
    elif act == "continue":
        continue_feed(feed=found, actor=access.user)
    elif act == "run":
        choose_run(feed=found, run=request.POST.get("run", ""), actor=access.user)
    else:
        start_work(found)
        messages.success(request, _("The feed looks at its folder now."))


def _runs(access: Access) -> list[str]:
    """The names of the runs that a feed can have."""
    runs = Author.objects.filter(project=access.project, kind=AuthorKind.RUN, run__isnull=False)
    return list(runs.order_by("name").values_list("name", flat=True))
