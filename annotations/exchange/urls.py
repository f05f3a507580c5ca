from django.urls import URLPattern, path

from annotations.exchange.views import exports, imports, new_project

PROJECT = "projects/<slug:slug>"

urlpatterns: list[URLPattern] = [
    path("projects/new", new_project.project_new, name="project_new"),
    path(f"{PROJECT}/export/", exports.export, name="export"),
    path(f"{PROJECT}/export/preview", exports.export_preview, name="export_preview"),
    path(f"{PROJECT}/export/labels/", exports.label_mappings, name="label_mappings"),
    path(f"{PROJECT}/export/labels/<int:pk>/", exports.label_mapping, name="label_mapping"),
    path(f"{PROJECT}/export/labels/<int:pk>/delete", exports.label_mapping_delete, name="label_mapping_delete"),
    path(f"{PROJECT}/files/<int:pk>", exports.file_download, name="file_download"),
    path(f"{PROJECT}/notes/<int:pk>/original", exports.note_original, name="note_original"),
    path(f"{PROJECT}/notes/<int:pk>/original/pages/<int:page>", exports.source_page, name="source_page"),
    path(f"{PROJECT}/import/", imports.import_notes, name="import"),
    path(f"{PROJECT}/import/<int:pk>/", imports.import_preview, name="import_preview"),
    path(f"{PROJECT}/import/<int:pk>/report.csv", imports.import_report, name="import_report"),
    path(f"{PROJECT}/imports/<int:pk>/start", exports.job_start_import, name="job_start_import"),
    path(f"{PROJECT}/imports/<int:pk>/job", exports.job_of_import, name="job_of_import"),
    path(f"{PROJECT}/exports/notes", exports.notes_export, name="notes_export"),
    path(f"{PROJECT}/exports/start", exports.job_start_export, name="job_start_export"),
]
