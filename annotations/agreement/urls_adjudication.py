from django.urls import URLPattern, path

from annotations.agreement.views import adjudicate, adjudications, majority, outcome

_DESK = "projects/<slug:slug>/adjudicate/"

urlpatterns: list[URLPattern] = [
    path(_DESK, adjudications.adjudications, name="adjudications"),
    path(f"{_DESK}next/", adjudications.adjudicate_next, name="adjudicate_next"),
    path(f"{_DESK}unanimous", adjudications.adjudicate_unanimous, name="adjudicate_unanimous"),
    path(f"{_DESK}majority/", majority.majority, name="majority"),
    path(f"{_DESK}majority/start", majority.majority_start, name="majority_start"),
    path(f"{_DESK}majority/<uuid:vote>/", majority.majority_act, name="majority_act"),
    path(f"{_DESK}majority/<uuid:vote>/undo", majority.majority_undo, name="majority_undo"),
    path(f"{_DESK}<int:pk>/", adjudicate.adjudicate, name="adjudicate"),
    path(f"{_DESK}<int:pk>/decide", adjudicate.adjudicate_decide, name="adjudicate_decide"),
    path(f"{_DESK}<int:pk>/cause", adjudicate.adjudicate_cause, name="adjudicate_cause"),
    path(f"{_DESK}<int:pk>/state", adjudicate.adjudicate_state, name="adjudicate_state"),
    path(f"{_DESK}<int:pk>/finish", adjudicate.adjudicate_finish, name="adjudicate_finish"),
    path(f"{_DESK}<int:pk>/reopen", adjudicate.adjudicate_reopen, name="adjudicate_reopen"),
    path("projects/<slug:slug>/notes/<int:pk>/outcome/", outcome.outcome, name="outcome"),
]
