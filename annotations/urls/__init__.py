"""Every page of `annotations`, by area."""

from django.urls import URLPattern

from annotations.urls import adjudicating, figures, looking, managing, reviewing, talking, workbench

urlpatterns: list[URLPattern] = [
    *workbench.urlpatterns,
    *talking.urlpatterns,
    *reviewing.urlpatterns,
    *figures.urlpatterns,
    *adjudicating.urlpatterns,
    *looking.urlpatterns,
    *managing.urlpatterns,
]
