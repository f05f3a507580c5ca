"""URL patterns of `models_runtime` by feature, the most requested first, because patterns are tried in order."""

from django.urls import URLPattern

from models_runtime.refining.urls import urlpatterns as refining
from models_runtime.refining.urls_injecting import urlpatterns as injecting
from models_runtime.refining.urls_judging import urlpatterns as judging
from models_runtime.refining.urls_relexicalizing import urlpatterns as surrogates
from models_runtime.refining.urls_skills import urlpatterns as skills
from models_runtime.runs.urls import urlpatterns as runs
from models_runtime.runs.urls_comparing import urlpatterns as comparing
from models_runtime.runs.urls_loop import urlpatterns as loop
from models_runtime.training.urls import urlpatterns as training
from models_runtime.training.urls_calibration import urlpatterns as calibration

urlpatterns: list[URLPattern] = [
    *runs,
    *comparing,
    *calibration,
    *loop,
    *training,
    *judging,
    *surrogates,
    *skills,
    *injecting,
    *refining,
]
