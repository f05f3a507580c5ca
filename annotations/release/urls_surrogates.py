from django.urls import URLPattern, path

from annotations.release.views import surrogates as views

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/surrogates/", views.surrogates, name="surrogates"),
    path("projects/<slug:slug>/surrogates/merge", views.surrogates_merge, name="surrogates_merge"),
    path("projects/<slug:slug>/surrogates/<int:pk>/", views.surrogate, name="surrogate"),
    path("projects/<slug:slug>/surrogates/<int:pk>/change", views.surrogate_change, name="surrogate_change"),
]
