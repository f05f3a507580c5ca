"""Annotating: the workbench and what it asks for."""

from django.urls import URLPattern, path

from annotations.views import annotate, changing

urlpatterns: list[URLPattern] = [
    # First, since it is asked for most.
    path("projects/<slug:slug>/notes/<int:pk>/changes", changing.changes, name="changes"),
    path("projects/<slug:slug>/notes/next/", annotate.next_open_note, name="next_note"),
    path("projects/<slug:slug>/notes/<int:pk>/annotate/", annotate.annotate, name="annotate"),
    path("projects/<slug:slug>/notes/<int:pk>/data", annotate.note_data, name="note_data"),
    path("projects/<slug:slug>/notes/<int:pk>/spans", changing.spans, name="spans"),
    path("projects/<slug:slug>/notes/<int:pk>/submit", changing.submit_note, name="submit"),
    path("projects/<slug:slug>/notes/<int:pk>/reopen", changing.reopen_note, name="reopen"),
]
