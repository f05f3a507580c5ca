from django.urls import URLPattern, path

from models_runtime.core.registry import FLAIR, GLINER, PIPELINE, REMOTE, TAGGER
from models_runtime.runs.views import comparing, runs

PROJECT = "projects/<slug:slug>"

urlpatterns: list[URLPattern] = [
    path(f"{PROJECT}/backends/", runs.backends, name="backends"),
    path(f"{PROJECT}/runs/", runs.runs, name="runs"),
    path(f"{PROJECT}/runs/start", runs.run_start, name="run_start"),
    path(f"{PROJECT}/runs/pipelines/<str:name>/", runs.run_external, {"backend": PIPELINE}, name="run_pipeline"),
    path(f"{PROJECT}/runs/transformers/<path:name>/", runs.run_external, {"backend": TAGGER}, name="run_tagger"),
    path(f"{PROJECT}/runs/flair/<path:name>/", runs.run_external, {"backend": FLAIR}, name="run_flair"),
    path(f"{PROJECT}/runs/zero-shot/<path:name>/", runs.run_external, {"backend": GLINER}, name="run_zero_shot"),
    path(f"{PROJECT}/runs/remote/<str:name>/", runs.run_external, {"backend": REMOTE}, name="run_remote"),
    path(f"{PROJECT}/runs/together", runs.runs_together, name="runs_together"),
    path(f"{PROJECT}/runs/combine/", runs.run_combine, name="run_combine"),
    path(f"{PROJECT}/runs/llm/", runs.run_llm, name="run_llm"),
    path(f"{PROJECT}/runs/<int:pk>/", runs.run, name="run"),
    path(f"{PROJECT}/runs/<int:pk>/placeholders/", runs.run_placeholders, name="run_placeholders"),
    path(f"{PROJECT}/runs/<int:pk>/rewritten.jsonl", runs.run_rewritten, name="run_rewritten"),
    path(f"{PROJECT}/runs/<int:pk>/rename", runs.run_rename, name="run_rename"),
    path(f"{PROJECT}/runs/<int:pk>/retry", runs.run_retry, name="run_retry"),
    path(f"{PROJECT}/runs/compare/", comparing.runs_compare, name="runs_compare"),
    path(f"{PROJECT}/runs/strategies/", comparing.strategies, name="strategies"),
    path(f"{PROJECT}/runs/compare/start", comparing.compare_start, name="compare_start"),
    path(f"{PROJECT}/runs/compare/spans", comparing.compare_spans, name="compare_spans"),
    path(f"{PROJECT}/loop/", comparing.loop, name="loop"),
    path(f"{PROJECT}/loop/freeze", comparing.loop_freeze, name="loop_freeze"),
]
