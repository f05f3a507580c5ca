from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.urls import include, path

from deidreview import views
from deidreview.catalogue import script_words

admin.site.site_header = "deidreview administration"
admin.site.site_title = "deidreview"
# The admin has its own sign-in page, which would pass the second factor by.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]  # as allauth documents it

urlpatterns = [
    path("healthz", views.healthz, name="healthz"),
    path("words/<str:language>/<str:version>.js", script_words, name="script_words"),
    path("accounts/", include("deidreview.account_urls")),
    path("admin/", admin.site.urls),
    # First those that are asked for at every key stroke: patterns are tried one after another.
    path("", include("annotations.urls")),
    path("", include("models_runtime.urls")),
]

handler400 = views.bad_request
handler403 = views.forbidden
handler404 = views.not_found
handler500 = views.failed
