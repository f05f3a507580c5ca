"""Reviewing a run's proposals."""

from django.urls import URLPattern, path

from annotations.views import review

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/review/<int:author>/", review.review_next, name="review_next"),
    path("projects/<slug:slug>/review/<int:author>/<int:pk>/", review.review, name="review"),
    path("projects/<slug:slug>/review/<int:author>/<int:pk>/decide", review.review_decide, name="review_decide"),
    path("projects/<slug:slug>/review/<int:author>/<int:pk>/state", review.review_state_json, name="review_state"),
    path("projects/<slug:slug>/review/<int:author>/<int:pk>/close", review.review_close, name="review_close"),
    path("projects/<slug:slug>/review/<int:author>/<int:pk>/reopen", review.review_reopen, name="review_reopen"),
]
