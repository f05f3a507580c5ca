from django.urls import URLPattern, path

from models_runtime.training.views import calibration, training

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/models/", training.models, name="models"),
    path("projects/<slug:slug>/models/train", training.model_train, name="model_train"),
    path("projects/<slug:slug>/models/upload", training.model_upload, name="model_upload"),
    path("projects/<slug:slug>/models/<int:pk>/", training.model, name="model"),
    path("projects/<slug:slug>/models/<int:pk>/rename", training.model_rename, name="model_rename"),
    path("projects/<slug:slug>/models/<int:pk>/retire", training.model_retire, name="model_retire"),
    path("projects/<slug:slug>/models/<int:pk>/enough", training.model_enough, name="model_enough"),
    path("projects/<slug:slug>/models/<int:pk>/file", training.model_file, name="model_file"),
    path("projects/<slug:slug>/calibrations/start", calibration.calibration_start, name="calibration_start"),
    path("projects/<slug:slug>/calibrations/<int:pk>/", calibration.calibration, name="calibration"),
    path(
        "projects/<slug:slug>/calibrations/<int:pk>/withdraw",
        calibration.calibration_withdraw,
        name="calibration_withdraw",
    ),
]
