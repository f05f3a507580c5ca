from django.urls import URLPattern, path

from models_runtime.runs.views import comparing as views

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/runs/compare/", views.runs_compare, name="runs_compare"),
    path("projects/<slug:slug>/runs/strategies/", views.strategies, name="strategies"),
    path("projects/<slug:slug>/runs/compare/start", views.compare_start, name="compare_start"),
    path("projects/<slug:slug>/runs/compare/spans", views.compare_spans, name="compare_spans"),
]
