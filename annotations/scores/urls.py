from django.urls import URLPattern, path

from annotations.scores.views import errors, scores

_SCORE = "projects/<slug:slug>/scores/<int:version>/<int:author>/"

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/scores/", scores.scores, name="scores"),
    path(_SCORE, scores.score_page, name="score"),
    path(f"{_SCORE}errors/", errors.error_list, name="score_errors"),
    path(f"{_SCORE}errors/csv", errors.errors_export, name="score_errors_export"),
    path(f"{_SCORE}errors/cause", errors.error_cause, name="score_error_cause"),
    path("projects/<slug:slug>/scores/start", scores.job_start_score, name="job_start_score"),
]
