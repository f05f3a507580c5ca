from django.urls import URLPattern, path

from models_runtime.refining.views import injecting as views

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/injections/", views.injections, name="injections"),
    path("projects/<slug:slug>/injections/systemic", views.systemic, name="systemic_errors"),
    path("projects/<slug:slug>/injections/<int:pk>/", views.injection, name="injection"),
    path("projects/<slug:slug>/injections/<int:pk>/errors", views.injected_errors, name="injected_errors"),
]
