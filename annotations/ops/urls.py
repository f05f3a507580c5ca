from django.urls import URLPattern, path

from annotations.ops.views import archives, deleting, webhooks

PROJECT = "projects/<slug:slug>"

urlpatterns: list[URLPattern] = [
    path(f"{PROJECT}/patients/", deleting.patients, name="patients"),
    path(f"{PROJECT}/delete/", deleting.project_delete, name="project_delete"),
    path(f"{PROJECT}/notes/<int:pk>/delete/", deleting.note_delete, name="note_delete"),
    path(f"{PROJECT}/webhooks/", webhooks.webhooks, name="webhooks"),
    path(f"{PROJECT}/webhooks/<int:pk>/", webhooks.webhook, name="webhook"),
    path(
        f"{PROJECT}/webhooks/<int:pk>/deliveries/<int:delivery>/resend", webhooks.webhook_resend, name="webhook_resend"
    ),
    path("projects/import-archive", archives.archive_import, name="archive_import"),
    path(f"{PROJECT}/archive/", archives.archive_export, name="archive_export"),
    path(f"{PROJECT}/imported-work", archives.archive_claim, name="archive_claim"),
    path(f"{PROJECT}/archive/start", archives.archive_start, name="archive_start"),
    path(f"{PROJECT}/archive/<int:pk>.zip", archives.archive_file, name="archive_file"),
    path(f"{PROJECT}/archive/import/<int:pk>/", archives.archive_confirm, name="archive_confirm"),
]
