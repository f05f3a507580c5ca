from django.urls import URLPattern, path

from annotations.records import views

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/records/", views.records, name="records"),
    path("projects/<slug:slug>/records/release", views.record_release, name="record_release"),
    path("projects/<slug:slug>/records/export/<int:number>", views.record_export, name="record_export"),
    path("projects/<slug:slug>/records/<int:pk>/", views.record, name="record"),
    path("projects/<slug:slug>/record-schemas/", views.record_schemas, name="record_schemas"),
    path("projects/<slug:slug>/record-schemas/<int:pk>/", views.record_schema, name="record_schema"),
]
