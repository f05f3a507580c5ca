from django.urls import URLPattern, path

from annotations.ops.views import webhooks as views

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/webhooks/", views.webhooks, name="webhooks"),
    path("projects/<slug:slug>/webhooks/<int:pk>/", views.webhook, name="webhook"),
    path(
        "projects/<slug:slug>/webhooks/<int:pk>/deliveries/<int:delivery>/resend",
        views.webhook_resend,
        name="webhook_resend",
    ),
]
