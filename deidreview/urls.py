from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.urls import include, path

from deidreview import views
from deidreview.catalogue import script_words

admin.site.site_header = "deidreview administration"
admin.site.site_title = "deidreview"
# The admin's own pages would pass the second factor by, for whoever is signed in as somebody else too, and would let a
# password be guessed without a count.
admin.site.login = secure_admin_login(views.admin_home)  # type: ignore[method-assign]  # as allauth documents it
admin.site.password_change = views.admin_password_change  # type: ignore[method-assign, assignment]

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
