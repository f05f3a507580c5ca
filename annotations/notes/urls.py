from django.urls import URLPattern, path

from annotations.notes.views import assignments, comments, flags, notes, search, talk

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/notes/", notes.notes, name="notes"),
    path("projects/<slug:slug>/notes/<int:pk>/", notes.note, name="note"),
    path("projects/<slug:slug>/notes/<int:pk>/talk", talk.talk, name="talk"),
    path("projects/<slug:slug>/notes/<int:pk>/comments", comments.comments, name="comments"),
    path("projects/<slug:slug>/comments/csv", comments.comments_export, name="comments_export"),
    path("projects/<slug:slug>/assignments/take-back", assignments.take_back_notes, name="take_back_notes"),
    path("projects/<slug:slug>/notes/<int:pk>/flag", flags.flag, name="flag"),
    path("projects/<slug:slug>/search/", search.search, name="search"),
    path("projects/<slug:slug>/search/<uuid:search>/", search.search_results, name="search_results"),
]
