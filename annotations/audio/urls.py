from django.urls import URLPattern, path

from annotations.audio import views

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/recordings/", views.recordings, name="recordings"),
    path("projects/<slug:slug>/recordings/import", views.recording_import, name="recording_import"),
    path("projects/<slug:slug>/notes/<int:pk>/recording", views.recording, name="recording"),
    path("projects/<slug:slug>/notes/<int:pk>/recording/file", views.recording_file, name="recording_file"),
    path("projects/<slug:slug>/notes/<int:pk>/recording/mark", views.region_mark, name="region_mark"),
    path("projects/<slug:slug>/notes/<int:pk>/recording/<int:region>", views.region_decide, name="region_decide"),
]
