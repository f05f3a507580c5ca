from django.urls import URLPattern, path

from annotations.agreement.views import agreement, amendments, disagreements, sentences, starting

_DISAGREEMENTS = "projects/<slug:slug>/agreement/disagreements/"
_DISAGREEMENT = f"{_DISAGREEMENTS}<int:pk>/<int:start>/<int:end>/"

urlpatterns: list[URLPattern] = [
    path(_DISAGREEMENTS, disagreements.disagreements, name="disagreements"),
    path(f"{_DISAGREEMENTS}sentences/", sentences.disagreement_sentences, name="disagreement_sentences"),
    path(f"{_DISAGREEMENTS}sentences/csv", sentences.sentences_export, name="sentences_export"),
    path(f"{_DISAGREEMENT}cause", disagreements.disagreement_cause, name="disagreement_cause"),
    path(f"{_DISAGREEMENT}talk", disagreements.disagreement_talk, name="disagreement_talk"),
    path("projects/<slug:slug>/guidelines/amendments/", amendments.amendments, name="amendments"),
    path("projects/<slug:slug>/guidelines/amend/", amendments.amend_guidelines, name="amend"),
    path("projects/<slug:slug>/agreement/", agreement.agreement, name="agreement"),
    path("projects/<slug:slug>/agreement/csv", agreement.agreement_table, name="agreement_table"),
    path("projects/<slug:slug>/agreement/start", starting.agreement_start, name="agreement_start"),
    path("projects/<slug:slug>/agreement/jobs/<int:number>", starting.agreement_progress, name="agreement_progress"),
]
