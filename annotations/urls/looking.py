"""Looking at a project: notes, figures, gold, exports."""

from django.urls import URLPattern, path

from annotations.views import agreement, audit, exports, files, gold, notes, projects

urlpatterns: list[URLPattern] = [
    path("", projects.projects, name="projects"),
    path("projects/new", projects.project_new, name="project_new"),
    path("projects/<slug:slug>/", projects.project, name="project"),
    path("projects/<slug:slug>/notes/", notes.notes, name="notes"),
    path("projects/<slug:slug>/notes/<int:pk>/", notes.note, name="note"),
    path("projects/<slug:slug>/notes/<int:pk>/gold", notes.note_gold, name="note_gold"),
    path("projects/<slug:slug>/notes/<int:pk>/gold/withdraw", notes.note_gold_withdraw, name="note_gold_withdraw"),
    path("projects/<slug:slug>/agreement/", agreement.agreement, name="agreement"),
    path("projects/<slug:slug>/gold/", gold.gold, name="gold"),
    path("projects/<slug:slug>/gold/freeze", gold.gold_freeze, name="gold_freeze"),
    path("projects/<slug:slug>/gold/<int:version>/", gold.gold_version, name="gold_version"),
    path("projects/<slug:slug>/gold/<int:version>/changes/", gold.gold_changes, name="gold_changes"),
    path("projects/<slug:slug>/gold/<int:version>/split", gold.gold_split, name="gold_split"),
    path("projects/<slug:slug>/export/", exports.export, name="export"),
    path("projects/<slug:slug>/files/<int:pk>", files.file_download, name="file_download"),
    path("projects/<slug:slug>/audit/", audit.audit, name="audit"),
]
