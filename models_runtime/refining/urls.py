from django.urls import URLPattern, path

from models_runtime.refining import views

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/refinements/", views.refinements, name="refinements"),
]
