"""The URLs of all features, the most frequent ones first, because patterns are tried in order."""

from django.urls import URLPattern, URLResolver

from annotations.accounts.urls import urlpatterns as accounts
from annotations.adjudicate.urls import urlpatterns as adjudicate
from annotations.agreement.urls import urlpatterns as agreement
from annotations.annotate.urls import urlpatterns as annotate
from annotations.api.urls import urlpatterns as api
from annotations.archives.urls import urlpatterns as archives
from annotations.audits.urls import urlpatterns as audits
from annotations.certificates.urls import urlpatterns as certificates
from annotations.gold.urls import urlpatterns as gold
from annotations.help.urls import urlpatterns as help_pages
from annotations.jobs.urls import urlpatterns as jobs
from annotations.known.urls import urlpatterns as known
from annotations.notes.urls import urlpatterns as notes
from annotations.ops.urls import urlpatterns as ops
from annotations.projects.urls import urlpatterns as projects
from annotations.providers.urls import urlpatterns as providers
from annotations.release.urls import urlpatterns as release
from annotations.review.urls import urlpatterns as review
from annotations.scores.urls import urlpatterns as scores
from annotations.surrogates.urls import urlpatterns as surrogates
from annotations.transfer.urls import urlpatterns as transfer
from annotations.webhooks.urls import urlpatterns as webhooks

urlpatterns: list[URLPattern | URLResolver] = [
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
    *providers,
    *known,
    *surrogates,
    *release,
    *audits,
    *certificates,
    *webhooks,
    *archives,
    *ops,
    *help_pages,
    *api,
]
