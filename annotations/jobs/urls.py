from django.urls import URLPattern, path

from annotations.jobs import views

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/jobs/", views.jobs, name="jobs"),
    path("projects/<slug:slug>/jobs/<int:number>/", views.job, name="job"),
    path("projects/<slug:slug>/jobs/<int:number>/cancel", views.job_act, {"act": "cancel"}, name="job_cancel"),
    path("projects/<slug:slug>/jobs/<int:number>/pause", views.job_act, {"act": "pause"}, name="job_pause"),
    path("projects/<slug:slug>/jobs/<int:number>/resume", views.job_act, {"act": "resume"}, name="job_resume"),
    path("projects/<slug:slug>/jobs/<int:number>/retry", views.job_act, {"act": "retry"}, name="job_retry"),
]
