"""Attributes of spans, and the attributes that the spans of a label may have."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotations', '0041_archives'),
    ]

    operations = [
        migrations.AddField(
            model_name='label',
            name='attributes',
            field=models.JSONField(blank=True, default=list, help_text='What its spans may have: a list of {name, values}; without values, boolean.'),
        ),
        migrations.AddField(
            model_name='span',
            name='attributes',
            field=models.JSONField(help_text='A choice or true by name of attribute; null without attributes.', null=True),
        ),
    ]
