from django.urls import URLPattern, path

from models_runtime.feeds import views

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/feeds/", views.feeds, name="feeds"),
    path("projects/<slug:slug>/feeds/<int:pk>", views.feed, name="feed"),
]
