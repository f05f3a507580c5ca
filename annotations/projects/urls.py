from django.urls import URLPattern, path

from annotations.projects.views import archiving, audit, categories, guidelines, labels, projects, settings

urlpatterns: list[URLPattern] = [
    path("", projects.projects, name="projects"),
    path("projects/new", projects.project_new, name="project_new"),
    path("projects/<slug:slug>/", projects.project, name="project"),
    path("projects/<slug:slug>/audit/", audit.audit, name="audit"),
    path("projects/<slug:slug>/labels/", labels.labels, name="labels"),
    path("projects/<slug:slug>/labels/<int:pk>/", labels.label_edit, name="label_edit"),
    path("projects/<slug:slug>/labels/<int:pk>/delete/", labels.label_delete, name="label_delete"),
    path("projects/<slug:slug>/labels/<int:pk>/move", labels.label_move, name="label_move"),
    path("projects/<slug:slug>/labels/<int:pk>/merge/", labels.label_merge, name="label_merge"),
    path("projects/<slug:slug>/categories/new", categories.category_add, name="category_add"),
    path("projects/<slug:slug>/categories/<int:pk>/", categories.category_edit, name="category_edit"),
    path("projects/<slug:slug>/categories/<int:pk>/move", categories.category_move, name="category_move"),
    path("projects/<slug:slug>/categories/<int:pk>/delete/", categories.category_delete, name="category_delete"),
    path("projects/<slug:slug>/guidelines/", guidelines.guidelines, name="guidelines"),
    path("projects/<slug:slug>/guidelines/edit/", guidelines.guidelines_edit, name="guidelines_edit"),
    path("projects/<slug:slug>/settings/", settings.project_settings, name="project_settings"),
    path("projects/<slug:slug>/settings/archive", archiving.archive, name="project_archive"),
    path("projects/<slug:slug>/settings/restore", archiving.restore, name="project_restore"),
    path("projects/<slug:slug>/settings/fill", settings.fill_notes, name="fill_notes"),
    path("projects/<slug:slug>/settings/assign", settings.assign_notes, name="assign_notes"),
    path("projects/<slug:slug>/guidelines/beside", guidelines.guidelines_beside, name="guidelines_beside"),
]
