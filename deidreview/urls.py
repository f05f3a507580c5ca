from django.conf import settings
from django.contrib import admin
from django.urls import include, path

from deidreview import views

urlpatterns = [
    path("healthz", views.healthz, name="healthz"),
    path("accounts/", include("allauth.urls")),
    path("admin/", admin.site.urls),
    path("", include("models_runtime.urls")),
    path("", include("annotations.urls")),
]

handler403 = views.forbidden
handler404 = views.not_found
handler500 = views.failed

if settings.DEBUG:
    admin.site.site_header = "deidreview (debug)"
