from django.urls import URLPattern, path

from annotations.jobs.views import jobs

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/jobs/", jobs.jobs, name="jobs"),
    path("projects/<slug:slug>/jobs/<int:number>/", jobs.job, name="job"),
    path("projects/<slug:slug>/jobs/<int:number>/cancel", jobs.job_cancel, name="job_cancel"),
    path("projects/<slug:slug>/jobs/<int:number>/pause", jobs.job_pause, name="job_pause"),
    path("projects/<slug:slug>/jobs/<int:number>/resume", jobs.job_resume, name="job_resume"),
    path("projects/<slug:slug>/jobs/<int:number>/retry", jobs.job_retry, name="job_retry"),
]
