from django.urls import URLPattern, path

from annotations.views import annotate, projects

workbench: list[URLPattern] = [
    path("projects/<slug:slug>/notes/next/", annotate.next_open_note, name="next_note"),
    path("projects/<slug:slug>/notes/<int:pk>/annotate/", annotate.annotate, name="annotate"),
    path("projects/<slug:slug>/notes/<int:pk>/changes", annotate.changes, name="changes"),
    path("projects/<slug:slug>/notes/<int:pk>/spans", annotate.spans, name="spans"),
    path("projects/<slug:slug>/notes/<int:pk>/submit", annotate.submit_note, name="submit"),
    path("projects/<slug:slug>/notes/<int:pk>/reopen", annotate.reopen_note, name="reopen"),
]

looking: list[URLPattern] = [
    path("", projects.projects, name="projects"),
    path("projects/new", projects.project_new, name="project_new"),
    path("projects/<slug:slug>/", projects.project, name="project"),
]

urlpatterns: list[URLPattern] = [*workbench, *looking]
