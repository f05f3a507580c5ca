from django.urls import URLPattern, path

from annotations.ops import views

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/patients/", views.patients, name="patients"),
]
