from django.urls import URLPattern, path

from annotations.scores import views

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/scores/", views.scores, name="scores"),
    path("projects/<slug:slug>/scores/<int:version>/<int:author>/", views.score_page, name="score"),
    path("projects/<slug:slug>/scores/<int:version>/<int:author>/errors/", views.error_list, name="score_errors"),
    path("projects/<slug:slug>/scores/start", views.job_start_score, name="job_start_score"),
]
