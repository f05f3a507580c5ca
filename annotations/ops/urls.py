from django.urls import URLPattern, path

from annotations.ops import views

PROJECT = "projects/<slug:slug>"

urlpatterns: list[URLPattern] = [
    path(f"{PROJECT}/patients/", views.patients, name="patients"),
    path(f"{PROJECT}/delete/", views.project_delete, name="project_delete"),
    path(f"{PROJECT}/notes/delete", views.notes_delete, name="notes_delete"),
    path(f"{PROJECT}/notes/<int:pk>/delete/", views.note_delete, name="note_delete"),
    path(f"{PROJECT}/webhooks/", views.webhooks, name="webhooks"),
    path(f"{PROJECT}/webhooks/<int:pk>/", views.webhook, name="webhook"),
    path(f"{PROJECT}/webhooks/<int:pk>/deliveries/<int:delivery>/resend", views.webhook_resend, name="webhook_resend"),
    path("projects/import-archive", views.archive_import, name="archive_import"),
    path(f"{PROJECT}/archive/", views.archive_export, name="archive_export"),
    path(f"{PROJECT}/imported-work", views.archive_claim, name="archive_claim"),
    path(f"{PROJECT}/archive/start", views.archive_start, name="archive_start"),
    path(f"{PROJECT}/archive/<int:pk>.zip", views.archive_file, name="archive_file"),
    path(f"{PROJECT}/archive/import/<int:pk>/", views.archive_confirm, name="archive_confirm"),
]
