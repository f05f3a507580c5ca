from django.urls import URLPattern, path

from annotations.review.views import acceptance, bulk, review

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/review/", review.reviews, name="reviews"),
    path("projects/<slug:slug>/review/bulk/", bulk.review_bulk_new, name="review_bulk_new"),
    path("projects/<slug:slug>/review/bulk/<uuid:bulk>/", bulk.review_bulk, name="review_bulk"),
    path("projects/<slug:slug>/review/strings/", bulk.review_strings, name="review_strings"),
    path("projects/<slug:slug>/review/strings/decide", bulk.review_strings_decide, name="review_strings_decide"),
    path("projects/<slug:slug>/review/strings/<int:pk>/", bulk.review_string, name="review_string"),
    path("projects/<slug:slug>/review/acceptance/", acceptance.acceptance, name="acceptance"),
    path("projects/<slug:slug>/review/decisions/<slug:format>", acceptance.decisions_export, name="decisions_export"),
    path("projects/<slug:slug>/review/<int:author>/", review.review_next, name="review_next"),
    path("projects/<slug:slug>/review/<int:author>/<int:pk>/", review.review, name="review"),
    path("projects/<slug:slug>/review/<int:author>/<int:pk>/decide", review.review_decide, name="review_decide"),
    path("projects/<slug:slug>/review/<int:author>/<int:pk>/state", review.review_state_json, name="review_state"),
    path("projects/<slug:slug>/review/<int:author>/<int:pk>/finish", review.review_finish, name="review_finish"),
    path("projects/<slug:slug>/review/<int:author>/<int:pk>/reopen", review.review_reopen, name="review_reopen"),
    path("projects/<slug:slug>/review/bulk/<uuid:bulk>/start", bulk.bulk_start, name="bulk_start"),
    path("projects/<slug:slug>/review/bulk/<uuid:bulk>/undo", bulk.bulk_undo, name="bulk_undo"),
    path("projects/<slug:slug>/review/bulk/<uuid:bulk>/job", bulk.bulk_job, name="bulk_job"),
]
