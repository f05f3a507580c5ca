from django.urls import URLPattern, path

from models_runtime.refining.views import relexicalizing as views

urlpatterns: list[URLPattern] = [
    path(
        "projects/<slug:slug>/releases/<int:number>/model-scores",
        views.surrogate_scores_start,
        name="surrogate_scores_start",
    ),
]
