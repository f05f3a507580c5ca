"""Rendering of all forms with our own field template (label, field, help, error)."""

from django.forms.renderers import TemplatesSetting


class Renderer(TemplatesSetting):
    form_template_name = "includes/form.html"
    field_template_name = "includes/field.html"
