from django.urls import URLPattern, path

from models_runtime.refining.views import judging as views

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/judges/", views.judgings, name="judgings"),
    path("projects/<slug:slug>/judges/ask", views.judge, name="judge"),
    path("projects/<slug:slug>/judges/<int:pk>/", views.judging, name="judging"),
    path("projects/<slug:slug>/judges/<int:pk>/entities", views.judging_entities, name="judging_entities"),
    path("projects/<slug:slug>/judges/<int:pk>/again", views.judging_again, name="judging_again"),
]
