"""Comments, flags, personal keys, search."""

from django.urls import URLPattern, path

from annotations.views import comments, flags, guidelines, keys, search, talk

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/notes/<int:pk>/talk", talk.talk, name="talk"),
    path("projects/<slug:slug>/notes/<int:pk>/comments", comments.comments, name="comments"),
    path("projects/<slug:slug>/notes/<int:pk>/flag", flags.flag, name="flag"),
    path("projects/<slug:slug>/guidelines/beside", guidelines.guidelines_beside, name="guidelines_beside"),
    path("projects/<slug:slug>/keys/", keys.keys, name="keys"),
    path("projects/<slug:slug>/search/", search.search, name="search"),
    path("projects/<slug:slug>/search/<uuid:search>/", search.search_results, name="search_results"),
]
