"""The URLs of all features, the most frequent ones first, because patterns are tried in order."""

from django.urls import URLPattern, URLResolver

from annotations.agreement.urls import urlpatterns as agreement
from annotations.annotate.urls import urlpatterns as annotate
from annotations.audio.urls import urlpatterns as audio
from annotations.exchange.urls import urlpatterns as exchange
from annotations.gold.urls import urlpatterns as gold
from annotations.jobs.urls import urlpatterns as jobs
from annotations.notes.urls import urlpatterns as notes
from annotations.ops.urls import urlpatterns as ops
from annotations.pairs.urls import urlpatterns as pairs
from annotations.projects.urls import urlpatterns as projects
from annotations.records.urls import urlpatterns as records
from annotations.release.urls import urlpatterns as release
from annotations.review.urls import urlpatterns as review
from annotations.scores.urls import urlpatterns as scores

urlpatterns: list[URLPattern | URLResolver] = [
    *annotate,
    *notes,
    *review,
    *jobs,
    *scores,
    *agreement,
    *gold,
    *exchange,
    *pairs,
    *audio,
    *release,
    *records,
    *ops,
    *projects,
]
