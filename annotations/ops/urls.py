from django.urls import URLPattern, path

from annotations.ops.views import archives, deleting, webhooks

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/patients/", deleting.patients, name="patients"),
    path("projects/<slug:slug>/delete/", deleting.project_delete, name="project_delete"),
    path("projects/<slug:slug>/notes/<int:pk>/delete/", deleting.note_delete, name="note_delete"),
    path("projects/<slug:slug>/webhooks/", webhooks.webhooks, name="webhooks"),
    path("projects/<slug:slug>/webhooks/<int:pk>/", webhooks.webhook, name="webhook"),
    path(
        "projects/<slug:slug>/webhooks/<int:pk>/deliveries/<int:delivery>/resend",
        webhooks.webhook_resend,
        name="webhook_resend",
    ),
    path("projects/import-archive", archives.archive_import, name="archive_import"),
    path("projects/<slug:slug>/archive/", archives.archive_export, name="archive_export"),
    path("projects/<slug:slug>/imported-work", archives.archive_claim, name="archive_claim"),
    path("projects/<slug:slug>/archive/start", archives.archive_start, name="archive_start"),
    path("projects/<slug:slug>/archive/<int:pk>.zip", archives.archive_file, name="archive_file"),
    path("projects/<slug:slug>/archive/import/<int:pk>/", archives.archive_confirm, name="archive_confirm"),
]
