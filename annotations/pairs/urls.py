from django.urls import URLPattern, path

from annotations.pairs import views

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/pairs/", views.pairs, name="pairs"),
    path("projects/<slug:slug>/pairs/<int:pk>/settle", views.pair_settle, name="pair_settle"),
]
