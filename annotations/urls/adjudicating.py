"""Disagreements, adjudication, and what came of it."""

from django.urls import URLPattern, path

from annotations.views import adjudicate, adjudications, amendments, disagreements, outcome

_PLACES = "projects/<slug:slug>/agreement/disagreements/"
_PLACE = f"{_PLACES}<int:pk>/<int:start>/<int:end>/"
_DESK = "projects/<slug:slug>/adjudicate/"

urlpatterns: list[URLPattern] = [
    path(_PLACES, disagreements.disagreements, name="disagreements"),
    path(f"{_PLACE}cause", disagreements.disagreement_cause, name="disagreement_cause"),
    path(f"{_PLACE}talk", disagreements.disagreement_talk, name="disagreement_talk"),
    path("projects/<slug:slug>/guidelines/amendments/", amendments.amendments, name="amendments"),
    path("projects/<slug:slug>/guidelines/amend/", amendments.amend_guidelines, name="amend"),
    path(_DESK, adjudications.adjudications, name="adjudications"),
    path(f"{_DESK}next/", adjudications.adjudicate_next, name="adjudicate_next"),
    path(f"{_DESK}unanimous", adjudications.adjudicate_unanimous, name="adjudicate_unanimous"),
    path(f"{_DESK}<int:pk>/", adjudicate.adjudicate, name="adjudicate"),
    path(f"{_DESK}<int:pk>/decide", adjudicate.adjudicate_decide, name="adjudicate_decide"),
    path(f"{_DESK}<int:pk>/cause", adjudicate.adjudicate_cause, name="adjudicate_cause"),
    path(f"{_DESK}<int:pk>/state", adjudicate.adjudicate_state, name="adjudicate_state"),
    path(f"{_DESK}<int:pk>/close", adjudicate.adjudicate_close, name="adjudicate_close"),
    path(f"{_DESK}<int:pk>/reopen", adjudicate.adjudicate_reopen, name="adjudicate_reopen"),
    path("projects/<slug:slug>/notes/<int:pk>/outcome/", outcome.outcome, name="outcome"),
]
