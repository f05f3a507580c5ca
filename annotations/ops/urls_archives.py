from django.urls import URLPattern, path

from annotations.ops.views import archives

urlpatterns: list[URLPattern] = [
    path("projects/import-archive", archives.archive_import, name="archive_import"),
    path("projects/<slug:slug>/archive/", archives.archive_export, name="archive_export"),
    path("projects/<slug:slug>/imported-work", archives.archive_claim, name="archive_claim"),
    path("projects/<slug:slug>/archive/start", archives.archive_start, name="archive_start"),
    path("projects/<slug:slug>/archive/<int:pk>.zip", archives.archive_file, name="archive_file"),
    path("projects/<slug:slug>/archive/import/<int:pk>/", archives.archive_confirm, name="archive_confirm"),
]
