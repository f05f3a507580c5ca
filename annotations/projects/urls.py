from django.urls import URLPattern, path

from annotations.projects.views import audit, guidelines, labels, projects, settings

urlpatterns: list[URLPattern] = [
    path("", projects.projects, name="projects"),
    path("projects/new", projects.project_new, name="project_new"),
    path("projects/<slug:slug>/", projects.project, name="project"),
    path("projects/<slug:slug>/audit/", audit.audit, name="audit"),
    path("projects/<slug:slug>/labels/", labels.labels, name="labels"),
    path("projects/<slug:slug>/labels/<int:pk>/", labels.label_edit, name="label_edit"),
    path("projects/<slug:slug>/labels/<int:pk>/delete/", labels.label_delete, name="label_delete"),
    path("projects/<slug:slug>/labels/<int:pk>/merge/", labels.label_merge, name="label_merge"),
    path("projects/<slug:slug>/guidelines/", guidelines.guidelines, name="guidelines"),
    path("projects/<slug:slug>/guidelines/edit/", guidelines.guidelines_edit, name="guidelines_edit"),
    path("projects/<slug:slug>/settings/", settings.project_settings, name="project_settings"),
    path("projects/<slug:slug>/assignments/take-back", settings.take_back_notes, name="take_back_notes"),
    path("projects/<slug:slug>/settings/fill", settings.fill_notes, name="fill_notes"),
    path("projects/<slug:slug>/settings/assign", settings.assign_notes, name="assign_notes"),
    path("projects/<slug:slug>/guidelines/beside", guidelines.guidelines_beside, name="guidelines_beside"),
]
