from django.urls import URLPattern, path

from models_runtime.refining.views import refining as views

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/refinements/", views.refinements, name="refinements"),
]
