"""
What the operator sets, read once at the start: config.toml, the environment over it, all faults in one refusal.

Values come, first to last, from the environment (``TOCSIN__SECTION__KEY``, lists as JSON), the file, the defaults.
Secrets come from the environment alone: ``DISCORD_TOKEN``, ``DATABASE_URL``, or ``DISCORD_TOKEN_FILE`` and
``DATABASE_URL_FILE``, the paths of files that hold them.
"""

from bot.settings.faults import ConfigurationError
from bot.settings.reading import DEFAULT_PATH, MAX_FILE_BYTES, load_settings
from bot.settings.sections import (
    BotSettings,
    ClusterSettings,
    DatabaseSettings,
    DiscordSettings,
    LoggingSettings,
    ProcessSettings,
    RemindersSettings,
    Settings,
)

__all__ = [
    "DEFAULT_PATH",
    "MAX_FILE_BYTES",
    "BotSettings",
    "ClusterSettings",
    "ConfigurationError",
    "DatabaseSettings",
    "DiscordSettings",
    "LoggingSettings",
    "ProcessSettings",
    "RemindersSettings",
    "Settings",
    "load_settings",
]
