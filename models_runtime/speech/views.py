"""Start the judgment of a recording's gaps from its page."""

from django.http import HttpResponse
from django.shortcuts import redirect

from annotations.audio.selectors import recording_for
from annotations.core.access import Access, Can
from annotations.core.requests import Request, error_as_message, in_project
from models_runtime.speech.services.starting import start_judging


@in_project(Can.MANAGE, "POST")
def gaps_judge(request: Request, access: Access, pk: int) -> HttpResponse:
    """Ask the model `judge` (server and model with a space between them), with the consent `may_leave` if needed."""
    recording = recording_for(access, pk)
    server, _space, model = request.POST.get("judge", "").partition(" ")
    with error_as_message(request):
        job = start_judging(
            recording=recording, given={"server": server, "model": model}, may_leave="may_leave" in request.POST,
            actor=access.user,
        )  # fmt: skip
        return redirect("job", access.slug, job.number)
    return redirect("recording", access.slug, pk)
