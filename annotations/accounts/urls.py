from django.urls import URLPattern, path

from annotations.accounts import views

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/people/", views.people, name="people"),
    path("projects/<slug:slug>/people/<int:pk>/role", views.member_role, name="member_role"),
    path("projects/<slug:slug>/people/<int:pk>/remove/", views.member_remove, name="member_remove"),
    path("projects/<slug:slug>/people/<int:pk>/link", views.member_link, name="member_link"),
]
