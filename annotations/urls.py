"""Every page of `annotations`, by feature, what is asked for most first: patterns are tried in turn."""

from django.urls import URLPattern

from annotations.accounts.urls import urlpatterns as accounts
from annotations.adjudicate.urls import urlpatterns as adjudicate
from annotations.agreement.urls import urlpatterns as agreement
from annotations.annotate.urls import urlpatterns as annotate
from annotations.gold.urls import urlpatterns as gold
from annotations.jobs.urls import urlpatterns as jobs
from annotations.notes.urls import urlpatterns as notes
from annotations.ops.urls import urlpatterns as ops
from annotations.projects.urls import urlpatterns as projects
from annotations.review.urls import urlpatterns as review
from annotations.scores.urls import urlpatterns as scores
from annotations.transfer.urls import urlpatterns as transfer

urlpatterns: list[URLPattern] = [
    *annotate,
    *notes,
    *review,
    *jobs,
    *scores,
    *adjudicate,
    *agreement,
    *projects,
    *gold,
    *transfer,
    *accounts,
    *ops,
]
