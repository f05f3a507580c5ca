"""Agreement, disagreements and scores."""

from django.urls import URLPattern, path

from annotations.views import scores

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/scores/", scores.scores, name="scores"),
    path("projects/<slug:slug>/scores/<int:version>/<int:author>/", scores.score_page, name="score"),
    path("projects/<slug:slug>/scores/<int:version>/<int:author>/places/", scores.score_places, name="score_places"),
]
