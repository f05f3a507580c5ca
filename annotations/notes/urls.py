from django.urls import URLPattern, path

from annotations.notes.views import notes, talk

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/notes/", notes.notes, name="notes"),
    path("projects/<slug:slug>/notes/<int:pk>/", notes.note, name="note"),
    path("projects/<slug:slug>/notes/<int:pk>/talk", talk.talk, name="talk"),
    path("projects/<slug:slug>/notes/<int:pk>/comments", talk.comments, name="comments"),
    path("projects/<slug:slug>/comments/csv", talk.comments_export, name="comments_export"),
    path("projects/<slug:slug>/assignments/add", notes.notes_assign, name="notes_assign"),
    path("projects/<slug:slug>/assignments/take-back", notes.take_back_notes, name="take_back_notes"),
    path("projects/<slug:slug>/notes/<int:pk>/flag", talk.flag, name="flag"),
    path("projects/<slug:slug>/places", notes.places, name="places"),
    path("places", notes.my_places, name="my_places"),
    path("projects/<slug:slug>/search/", notes.search, name="search"),
    path("projects/<slug:slug>/search/<uuid:search>/", notes.search_results, name="search_results"),
]
