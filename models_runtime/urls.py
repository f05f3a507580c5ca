"""URL patterns of `models_runtime` by feature, the most requested first, because patterns are tried in order."""

from django.urls import URLPattern

from models_runtime.calibration.urls import urlpatterns as calibration
from models_runtime.comparing.urls import urlpatterns as comparing
from models_runtime.judging.urls import urlpatterns as judging
from models_runtime.loop.urls import urlpatterns as loop
from models_runtime.relexicalizing.urls import urlpatterns as surrogates
from models_runtime.runs.urls import urlpatterns as runs
from models_runtime.skills.urls import urlpatterns as skills
from models_runtime.training.urls import urlpatterns as training

urlpatterns: list[URLPattern] = [
    *runs,
    *comparing,
    *calibration,
    *loop,
    *training,
    *judging,
    *surrogates,
    *skills,
]
