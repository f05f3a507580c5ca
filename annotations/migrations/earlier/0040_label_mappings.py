"""Label mappings: how exports write the labels of a project."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotations', '0039_formats'),
    ]

    operations = [
        migrations.CreateModel(
            name='LabelMapping',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=80)),
                ('target', models.CharField(blank=True, max_length=40)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='label_mappings', to='annotations.project')),
            ],
            options={
                'ordering': ['name', 'id'],
            },
        ),
        migrations.CreateModel(
            name='MappedLabel',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.CharField(blank=True, max_length=60)),
                ('label', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotations.label')),
                ('mapping', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='rows', to='annotations.labelmapping')),
            ],
        ),
        migrations.AddConstraint(
            model_name='labelmapping',
            constraint=models.UniqueConstraint(fields=('project', 'name'), name='label_mapping_name_once'),
        ),
        migrations.AddConstraint(
            model_name='mappedlabel',
            constraint=models.UniqueConstraint(fields=('mapping', 'label'), name='mapped_label_once'),
        ),
    ]
