from django.urls import URLPattern, path

from annotations.exchange.views import exports, imports, label_mappings

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/export/", exports.export, name="export"),
    path("projects/<slug:slug>/export/preview", exports.export_preview, name="export_preview"),
    path("projects/<slug:slug>/export/labels/", label_mappings.label_mappings, name="label_mappings"),
    path("projects/<slug:slug>/export/labels/<int:pk>/", label_mappings.label_mapping, name="label_mapping"),
    path(
        "projects/<slug:slug>/export/labels/<int:pk>/delete",
        label_mappings.label_mapping_delete,
        name="label_mapping_delete",
    ),
    path("projects/<slug:slug>/files/<int:pk>", exports.file_download, name="file_download"),
    path("projects/<slug:slug>/notes/<int:pk>/original", exports.note_original, name="note_original"),
    path("projects/<slug:slug>/notes/<int:pk>/original/pages/<int:page>", exports.source_page, name="source_page"),
    path("projects/<slug:slug>/import/", imports.import_notes, name="import"),
    path("projects/<slug:slug>/import/<int:pk>/", imports.import_preview, name="import_preview"),
    path("projects/<slug:slug>/import/<int:pk>/report.csv", imports.import_report, name="import_report"),
    path("projects/<slug:slug>/imports/<int:pk>/start", exports.job_start_import, name="job_start_import"),
    path("projects/<slug:slug>/imports/<int:pk>/job", exports.job_of_import, name="job_of_import"),
    path("projects/<slug:slug>/exports/start", exports.job_start_export, name="job_start_export"),
]
