from django.urls import URLPattern, path

from annotations.agreement.views import adjudicate, agreement, disagreements

_DISAGREEMENTS = "projects/<slug:slug>/agreement/disagreements/"
_DISAGREEMENT = f"{_DISAGREEMENTS}<int:pk>/<int:start>/<int:end>/"
_DESK = "projects/<slug:slug>/adjudicate/"

urlpatterns: list[URLPattern] = [
    path(_DISAGREEMENTS, disagreements.disagreements, name="disagreements"),
    path(f"{_DISAGREEMENTS}sentences/", disagreements.disagreement_sentences, name="disagreement_sentences"),
    path(f"{_DISAGREEMENTS}sentences/csv", disagreements.sentences_export, name="sentences_export"),
    path(f"{_DISAGREEMENTS}cause", disagreements.disagreement_cause, name="disagreement_cause"),
    path(f"{_DISAGREEMENT}talk", disagreements.disagreement_talk, name="disagreement_talk"),
    path("projects/<slug:slug>/guidelines/amendments/", disagreements.amendments, name="amendments"),
    path("projects/<slug:slug>/guidelines/amend/", disagreements.amend_guidelines, name="amend"),
    path("projects/<slug:slug>/agreement/", agreement.agreement, name="agreement"),
    path("projects/<slug:slug>/agreement/csv", agreement.agreement_table, name="agreement_table"),
    path("projects/<slug:slug>/agreement/start", agreement.agreement_start, name="agreement_start"),
    path("projects/<slug:slug>/agreement/jobs/<int:number>", agreement.agreement_progress, name="agreement_progress"),
    path(_DESK, agreement.adjudications, name="adjudications"),
    path(f"{_DESK}next/", agreement.adjudicate_next, name="adjudicate_next"),
    path(f"{_DESK}unanimous", agreement.adjudicate_unanimous, name="adjudicate_unanimous"),
    path(f"{_DESK}majority/", agreement.majority, name="majority"),
    path(f"{_DESK}majority/start", agreement.majority_start, name="majority_start"),
    path(f"{_DESK}majority/<uuid:vote>/", agreement.majority_act, name="majority_act"),
    path(f"{_DESK}majority/<uuid:vote>/undo", agreement.majority_undo, name="majority_undo"),
    path(f"{_DESK}<int:pk>/", adjudicate.adjudicate, name="adjudicate"),
    path(f"{_DESK}<int:pk>/decide", adjudicate.adjudicate_decide, name="adjudicate_decide"),
    path(f"{_DESK}<int:pk>/cause", adjudicate.adjudicate_cause, name="adjudicate_cause"),
    path(f"{_DESK}<int:pk>/state", adjudicate.adjudicate_state, name="adjudicate_state"),
    path(f"{_DESK}<int:pk>/finish", adjudicate.adjudicate_finish, name="adjudicate_finish"),
    path(f"{_DESK}<int:pk>/reopen", adjudicate.adjudicate_reopen, name="adjudicate_reopen"),
    path("projects/<slug:slug>/notes/<int:pk>/outcome/", adjudicate.outcome, name="outcome"),
]
