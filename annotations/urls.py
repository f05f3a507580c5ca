"""The URLs of all features, the most frequent ones first, because patterns are tried in order."""

from django.urls import URLPattern, URLResolver

from annotations.agreement.urls import urlpatterns as agreement
from annotations.agreement.urls_adjudication import urlpatterns as adjudicate
from annotations.annotate.urls import urlpatterns as annotate
from annotations.exchange.urls import urlpatterns as transfer
from annotations.gold.urls import urlpatterns as gold
from annotations.jobs.urls import urlpatterns as jobs
from annotations.notes.urls import urlpatterns as notes
from annotations.ops.urls import urlpatterns as ops
from annotations.ops.urls_archives import urlpatterns as archives
from annotations.ops.urls_webhooks import urlpatterns as webhooks
from annotations.projects.urls import urlpatterns as projects
from annotations.projects.urls_api import urlpatterns as api
from annotations.projects.urls_help import urlpatterns as help_pages
from annotations.projects.urls_members import urlpatterns as accounts
from annotations.projects.urls_providers import urlpatterns as providers
from annotations.release.urls import urlpatterns as release
from annotations.release.urls_audits import urlpatterns as audits
from annotations.release.urls_certificates import urlpatterns as certificates
from annotations.release.urls_known import urlpatterns as known
from annotations.release.urls_surrogates import urlpatterns as surrogates
from annotations.review.urls import urlpatterns as review
from annotations.scores.urls import urlpatterns as scores

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
