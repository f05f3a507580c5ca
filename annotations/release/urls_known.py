from django.urls import URLPattern, path

from annotations.release.views.known import lists, master, people

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/known/", master.known, name="known"),
    path("projects/<slug:slug>/known/lists", lists.known_lists, name="known_lists"),
    path("projects/<slug:slug>/known/lists.csv", lists.known_lists_csv, name="known_lists_csv"),
    path("projects/<slug:slug>/known/uploads/<int:pk>/", master.known_upload, name="known_upload"),
    path("projects/<slug:slug>/known/patients/", people.known_people, name="known_people"),
    path("projects/<slug:slug>/known/patients/<int:pk>/", people.known_person, name="known_person"),
]
