from django.urls import URLPattern, path

from models_runtime.refining.views import skills as views

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/skills/", views.skills, name="skills"),
    path("projects/<slug:slug>/skills/<slug:name>/", views.skill, name="skill"),
]
