from django.urls import path

from annotations.projects.views import help as views

urlpatterns = [
    path("help/", views.page, name="help"),
    path("help/<slug:name>/", views.page, name="help_page"),
]
