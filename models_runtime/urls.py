from django.urls import URLPattern, path

from models_runtime.views import jobs, runs, starting

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/runs/", runs.runs, name="runs"),
    path("projects/<slug:slug>/runs/start", runs.run_start, name="run_start"),
    path("projects/<slug:slug>/runs/<int:pk>/", runs.run, name="run"),
    path("projects/<slug:slug>/runs/<int:pk>/retry", runs.run_retry, name="run_retry"),
    path("projects/<slug:slug>/jobs/", jobs.jobs, name="jobs"),
    path("projects/<slug:slug>/jobs/<int:pk>/", jobs.job, name="job"),
    path("projects/<slug:slug>/jobs/<int:pk>/cancel", jobs.job_cancel, name="job_cancel"),
    path("projects/<slug:slug>/jobs/<int:pk>/pause", jobs.job_pause, name="job_pause"),
    path("projects/<slug:slug>/jobs/<int:pk>/resume", jobs.job_resume, name="job_resume"),
    path("projects/<slug:slug>/jobs/<int:pk>/retry", jobs.job_retry, name="job_retry"),
    path("projects/<slug:slug>/imports/<int:pk>/start", starting.job_start_import, name="job_start_import"),
    path("projects/<slug:slug>/imports/<int:pk>/job", starting.job_of_import, name="job_of_import"),
    path("projects/<slug:slug>/exports/start", starting.job_start_export, name="job_start_export"),
    path("projects/<slug:slug>/gold/start", starting.job_start_gold, name="job_start_gold"),
]
