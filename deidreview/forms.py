"""How every form is drawn: our field group (label, field, help, error) in place of Django's."""

from django.forms.renderers import TemplatesSetting


class Renderer(TemplatesSetting):
    form_template_name = "includes/form.html"
    field_template_name = "includes/field.html"
