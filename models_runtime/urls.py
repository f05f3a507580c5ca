from django.urls import URLPattern, path

from models_runtime.views import agreement, backends, calibrations, combining, jobs, runs, starting, trained

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/backends/", backends.backends, name="backends"),
    path("projects/<slug:slug>/runs/", runs.runs, name="runs"),
    path("projects/<slug:slug>/runs/start", runs.run_start, name="run_start"),
    path("projects/<slug:slug>/runs/combine", combining.run_combine, name="run_combine"),
    path("projects/<slug:slug>/runs/<int:pk>/", runs.run, name="run"),
    path("projects/<slug:slug>/runs/<int:pk>/retry", runs.run_retry, name="run_retry"),
    path("projects/<slug:slug>/calibrations/start", calibrations.calibration_start, name="calibration_start"),
    path("projects/<slug:slug>/calibrations/<int:pk>/", calibrations.calibration, name="calibration"),
    path(
        "projects/<slug:slug>/calibrations/<int:pk>/withdraw",
        calibrations.calibration_withdraw,
        name="calibration_withdraw",
    ),
    path("projects/<slug:slug>/models/", trained.models, name="models"),
    path("projects/<slug:slug>/models/train", trained.model_train, name="model_train"),
    path("projects/<slug:slug>/models/upload", trained.model_upload, name="model_upload"),
    path("projects/<slug:slug>/models/<int:pk>/", trained.model, name="model"),
    path("projects/<slug:slug>/models/<int:pk>/rename", trained.model_rename, name="model_rename"),
    path("projects/<slug:slug>/models/<int:pk>/retire", trained.model_retire, name="model_retire"),
    path("projects/<slug:slug>/models/<int:pk>/file", trained.model_file, name="model_file"),
    path("projects/<slug:slug>/jobs/", jobs.jobs, name="jobs"),
    path("projects/<slug:slug>/jobs/<int:pk>/", jobs.job, name="job"),
    path("projects/<slug:slug>/jobs/<int:pk>/cancel", jobs.job_cancel, name="job_cancel"),
    path("projects/<slug:slug>/jobs/<int:pk>/pause", jobs.job_pause, name="job_pause"),
    path("projects/<slug:slug>/jobs/<int:pk>/resume", jobs.job_resume, name="job_resume"),
    path("projects/<slug:slug>/jobs/<int:pk>/retry", jobs.job_retry, name="job_retry"),
    path("projects/<slug:slug>/imports/<int:pk>/start", starting.job_start_import, name="job_start_import"),
    path("projects/<slug:slug>/imports/<int:pk>/job", starting.job_of_import, name="job_of_import"),
    path("projects/<slug:slug>/exports/start", starting.job_start_export, name="job_start_export"),
    path("projects/<slug:slug>/agreement/start", agreement.agreement_start, name="agreement_start"),
    path("projects/<slug:slug>/agreement/jobs/<int:pk>", agreement.agreement_progress, name="agreement_progress"),
    path("projects/<slug:slug>/scores/start", starting.job_start_score, name="job_start_score"),
    path("projects/<slug:slug>/gold/start", starting.job_start_gold, name="job_start_gold"),
]
