from django.urls import URLPattern, path

from models_runtime.training import views

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/models/", views.models, name="models"),
    path("projects/<slug:slug>/models/train", views.model_train, name="model_train"),
    path("projects/<slug:slug>/models/upload", views.model_upload, name="model_upload"),
    path("projects/<slug:slug>/models/<int:pk>/", views.model, name="model"),
    path("projects/<slug:slug>/models/<int:pk>/rename", views.model_rename, name="model_rename"),
    path("projects/<slug:slug>/models/<int:pk>/retire", views.model_retire, name="model_retire"),
    path("projects/<slug:slug>/models/<int:pk>/enough", views.model_enough, name="model_enough"),
    path("projects/<slug:slug>/models/<int:pk>/file", views.model_file, name="model_file"),
    path("projects/<slug:slug>/calibrations/start", views.calibration_start, name="calibration_start"),
    path("projects/<slug:slug>/calibrations/<int:pk>/", views.calibration, name="calibration"),
    path(
        "projects/<slug:slug>/calibrations/<int:pk>/withdraw", views.calibration_withdraw, name="calibration_withdraw"
    ),
]
