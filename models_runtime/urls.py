"""URL patterns of `models_runtime`, the most requested first, because patterns are tried in order."""

from django.urls import URLPattern

from models_runtime.feeds.urls import urlpatterns as feeds
from models_runtime.refining.urls import urlpatterns as refining
from models_runtime.runs.urls import urlpatterns as runs
from models_runtime.speech.urls import urlpatterns as speech
from models_runtime.training.urls import urlpatterns as training

urlpatterns: list[URLPattern] = [*runs, *training, *refining, *feeds, *speech]
