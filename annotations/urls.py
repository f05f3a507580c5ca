from django.urls import URLPattern, path

from annotations.views import (
    agreement,
    annotate,
    audit,
    exports,
    files,
    gold,
    guidelines,
    imports,
    labels,
    notes,
    patients,
    people,
    projects,
    review,
    settings,
)

workbench: list[URLPattern] = [
    path("projects/<slug:slug>/notes/next/", annotate.next_open_note, name="next_note"),
    path("projects/<slug:slug>/notes/<int:pk>/annotate/", annotate.annotate, name="annotate"),
    path("projects/<slug:slug>/notes/<int:pk>/changes", annotate.changes, name="changes"),
    path("projects/<slug:slug>/notes/<int:pk>/spans", annotate.spans, name="spans"),
    path("projects/<slug:slug>/notes/<int:pk>/submit", annotate.submit_note, name="submit"),
    path("projects/<slug:slug>/notes/<int:pk>/reopen", annotate.reopen_note, name="reopen"),
]

reviewing: list[URLPattern] = [
    path("projects/<slug:slug>/review/<int:author>/", review.review_next, name="review_next"),
    path("projects/<slug:slug>/review/<int:author>/<int:pk>/", review.review, name="review"),
    path("projects/<slug:slug>/review/<int:author>/<int:pk>/decide", review.review_decide, name="review_decide"),
    path("projects/<slug:slug>/review/<int:author>/<int:pk>/state", review.review_state_json, name="review_state"),
    path("projects/<slug:slug>/review/<int:author>/<int:pk>/close", review.review_close, name="review_close"),
    path("projects/<slug:slug>/review/<int:author>/<int:pk>/reopen", review.review_reopen, name="review_reopen"),
]

looking: list[URLPattern] = [
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
    path("projects/<slug:slug>/export/", exports.export, name="export"),
    path("projects/<slug:slug>/files/<int:pk>", files.file_download, name="file_download"),
    path("projects/<slug:slug>/audit/", audit.audit, name="audit"),
]

managing: list[URLPattern] = [
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

urlpatterns: list[URLPattern] = [*workbench, *reviewing, *looking, *managing]
