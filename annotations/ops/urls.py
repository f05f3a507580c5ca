from django.urls import URLPattern, path

from annotations.ops.views import deleting, patients

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/patients/", patients.patients, name="patients"),
    path("projects/<slug:slug>/delete/", deleting.project_delete, name="project_delete"),
    path("projects/<slug:slug>/notes/<int:pk>/delete/", deleting.note_delete, name="note_delete"),
]
