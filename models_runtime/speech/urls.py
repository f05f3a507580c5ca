from django.urls import URLPattern, path

from models_runtime.speech import views

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/notes/<int:pk>/recording/judge", views.gaps_judge, name="gaps_judge")
]
