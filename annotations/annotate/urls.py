from django.urls import URLPattern, path

from annotations.annotate.views import annotate, keys

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/keys/", keys.keys, name="keys"),
    path("projects/<slug:slug>/notes/<int:pk>/changes", annotate.changes, name="changes"),
    path("projects/<slug:slug>/notes/next/", annotate.next_open_note, name="next_note"),
    path("projects/<slug:slug>/notes/<int:pk>/annotate/", annotate.annotate, name="annotate"),
    path("projects/<slug:slug>/notes/<int:pk>/data", annotate.note_data, name="note_data"),
    path("projects/<slug:slug>/notes/<int:pk>/spans", annotate.spans, name="spans"),
    path("projects/<slug:slug>/notes/<int:pk>/candidates", annotate.candidates, name="candidates"),
    path("projects/<slug:slug>/notes/<int:pk>/start", annotate.start_note, name="start_annotations"),
    path("projects/<slug:slug>/notes/<int:pk>/submit", annotate.submit_note, name="submit"),
    path("projects/<slug:slug>/notes/<int:pk>/reopen", annotate.reopen_note, name="reopen"),
]
