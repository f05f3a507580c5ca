from django.urls import URLPattern, path

from models_runtime.core.registry import FLAIR, GLINER, PIPELINE, REMOTE, TAGGER
from models_runtime.runs.views import comparing, loop, runs, starting

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/backends/", runs.backends, name="backends"),
    path("projects/<slug:slug>/runs/", runs.runs, name="runs"),
    path("projects/<slug:slug>/runs/start", runs.run_start, name="run_start"),
    path(
        "projects/<slug:slug>/runs/pipelines/<str:name>/",
        starting.run_external,
        {"backend": PIPELINE},
        name="run_pipeline",
    ),
    path(
        "projects/<slug:slug>/runs/transformers/<path:name>/",
        starting.run_external,
        {"backend": TAGGER},
        name="run_tagger",
    ),
    path("projects/<slug:slug>/runs/flair/<path:name>/", starting.run_external, {"backend": FLAIR}, name="run_flair"),
    path(
        "projects/<slug:slug>/runs/zero-shot/<path:name>/",
        starting.run_external,
        {"backend": GLINER},
        name="run_zero_shot",
    ),
    path("projects/<slug:slug>/runs/remote/<str:name>/", starting.run_external, {"backend": REMOTE}, name="run_remote"),
    path("projects/<slug:slug>/runs/together", starting.runs_together, name="runs_together"),
    path("projects/<slug:slug>/runs/combine/", starting.run_combine, name="run_combine"),
    path("projects/<slug:slug>/runs/llm/", starting.run_llm, name="run_llm"),
    path("projects/<slug:slug>/runs/<int:pk>/", runs.run, name="run"),
    path("projects/<slug:slug>/runs/<int:pk>/placeholders/", runs.run_placeholders, name="run_placeholders"),
    path("projects/<slug:slug>/runs/<int:pk>/rewritten.jsonl", runs.run_rewritten, name="run_rewritten"),
    path("projects/<slug:slug>/runs/<int:pk>/rename", runs.run_rename, name="run_rename"),
    path("projects/<slug:slug>/runs/<int:pk>/retry", runs.run_retry, name="run_retry"),
    path("projects/<slug:slug>/runs/compare/", comparing.runs_compare, name="runs_compare"),
    path("projects/<slug:slug>/runs/strategies/", comparing.strategies, name="strategies"),
    path("projects/<slug:slug>/runs/compare/start", comparing.compare_start, name="compare_start"),
    path("projects/<slug:slug>/runs/compare/spans", comparing.compare_spans, name="compare_spans"),
    path("projects/<slug:slug>/loop/", loop.loop, name="loop"),
    path("projects/<slug:slug>/loop/freeze", loop.loop_freeze, name="loop_freeze"),
]
