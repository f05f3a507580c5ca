from django.urls import URLPattern, path

from models_runtime.training.views import calibration as views

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/calibrations/start", views.calibration_start, name="calibration_start"),
    path("projects/<slug:slug>/calibrations/<int:pk>/", views.calibration, name="calibration"),
    path(
        "projects/<slug:slug>/calibrations/<int:pk>/withdraw",
        views.calibration_withdraw,
        name="calibration_withdraw",
    ),
]
