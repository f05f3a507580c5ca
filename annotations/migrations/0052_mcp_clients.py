from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotations', '0051_decisions_on_removals'),
    ]

    operations = [
        migrations.AddField(
            model_name='project',
            name='mcp_clients',
            field=models.BooleanField(default=False, db_default=False, help_text="Managers' MCP clients, such as language models elsewhere, may read notes."),
        ),
    ]
