from django.urls import URLPattern, path

from models_runtime.runs.views import loop as views

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/loop/", views.loop, name="loop"),
    path("projects/<slug:slug>/loop/freeze", views.loop_freeze, name="loop_freeze"),
]
