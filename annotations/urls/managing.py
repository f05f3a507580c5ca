"""Managing a project."""

from django.urls import URLPattern, path

from annotations.views import guidelines, imports, labels, patients, people, settings

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/import/", imports.import_notes, name="import"),
    path("projects/<slug:slug>/import/<int:pk>/", imports.import_preview, name="import_preview"),
    path("projects/<slug:slug>/import/<int:pk>/report.csv", imports.import_report, name="import_report"),
    path("projects/<slug:slug>/labels/", labels.labels, name="labels"),
    path("projects/<slug:slug>/labels/<int:pk>/", labels.label_edit, name="label_edit"),
    path("projects/<slug:slug>/labels/<int:pk>/merge/", labels.label_merge, name="label_merge"),
    path("projects/<slug:slug>/people/", people.people, name="people"),
    path("projects/<slug:slug>/people/<int:pk>/role", people.member_role, name="member_role"),
    path("projects/<slug:slug>/people/<int:pk>/remove/", people.member_remove, name="member_remove"),
    path("projects/<slug:slug>/people/<int:pk>/link", people.member_link, name="member_link"),
    path("projects/<slug:slug>/guidelines/", guidelines.guidelines, name="guidelines"),
    path("projects/<slug:slug>/guidelines/edit/", guidelines.guidelines_edit, name="guidelines_edit"),
    path("projects/<slug:slug>/settings/", settings.project_settings, name="project_settings"),
    path("projects/<slug:slug>/settings/fill", settings.fill_notes, name="fill_notes"),
    path("projects/<slug:slug>/settings/assign", settings.assign_notes, name="assign_notes"),
    path("projects/<slug:slug>/patients/", patients.patients, name="patients"),
]
