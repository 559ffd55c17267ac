"""
The sections of config.toml: every key with its default, its bounds and, as ``description``, what is allowed in words.

The file must give the very type (``poll_seconds = "30"`` is refused). config.toml at the root says the same to the
operator; a test holds the two together.
"""

import re
from typing import Annotated, Literal
from urllib.parse import parse_qs, urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, Strict, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict


def _seconds(default: int, low: int, high: int, rule: str = "") -> int:
    return Field(default=default, ge=low, le=high, description=f"a whole number of seconds from {low} to {high}{rule}")


def _known_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, OSError) as error:
        raise ValueError(name) from error
    return name


def _never_falling(waits: tuple[int, ...]) -> tuple[int, ...]:
    if list(waits) != sorted(waits):
        raise ValueError(waits)
    return waits


def _database_address(url: SecretStr) -> SecretStr:
    address = urlsplit(url.get_secret_value())
    sqlite = address.scheme == "sqlite" and re.fullmatch(r"sqlite://[^?#]+", url.get_secret_value(), re.IGNORECASE)
    # A socket's folder stands in the query, as the database's own tools write it.
    place = address.hostname or parse_qs(address.query).get("host")
    # Asking for the port is what finds a wrong one.
    postgres = address.scheme in {"postgres", "postgresql"} and place and address.port != 0
    if not url.get_secret_value().isprintable() or not (sqlite or (postgres and len(address.path) > 1)):
        raise ValueError(address.scheme)
    return url


def _token_alone(token: SecretStr) -> SecretStr:
    if not re.fullmatch(r"[!-~]+", token.get_secret_value()):
        raise ValueError(len(token))
    return token


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)


class DiscordSettings(_Section):
    """Where Discord is; an empty address is Discord's own."""

    api_base: str = Field(
        default="",
        pattern=r"^(https?://[^\s/@?#]+(/[^\s@?#]*[^\s@?#/])?)?$",
        description='"" or http(s)://HOST[:PORT]/PATH without name, password or a slash at the end',
    )
    gateway_url: str = Field(
        default="",
        pattern=r"^(wss?://[^\s/@?#]+(/[^\s@?#]*)?)?$",
        description='"" or ws(s)://HOST[:PORT]/PATH without name or password',
    )


class BotSettings(_Section):
    """Whom the bot serves; an empty ``guild_allow_list`` means every guild."""

    default_timezone: Annotated[str, AfterValidator(_known_zone)] = Field(
        default="UTC", description='an IANA time zone such as "Europe/Berlin"'
    )
    guild_allow_list: Annotated[tuple[Annotated[int, Strict(), Field(ge=1, lt=2**63)], ...], Strict(strict=False)] = (
        Field(
            default=(), max_length=1000, description="a list of at most 1000 guild ids (whole numbers), empty for all"
        )
    )


class DatabaseSettings(_Section):
    """Where the rows are kept; ``url`` is wrapped, as it may hold a password."""

    url: Annotated[SecretStr, AfterValidator(_database_address)] = Field(
        default=SecretStr("sqlite://data/tocsin.db"),
        description="sqlite://PATH or postgresql://NAME:PASSWORD@HOST:PORT/DATABASE, special characters as %XX",
    )
    pool_size: int = Field(default=5, ge=1, le=50, description="a whole number from 1 to 50")
    auto_migrate: bool = Field(default=True, description="true or false")


class ProcessSettings(_Section):
    """How the process ends. Source of the 7 s: 03-delivery, "Stop" (10 s for all of it)."""

    shutdown_grace_seconds: int = _seconds(7, 1, 60)


class RemindersSettings(_Section):
    """The one way out and the loops around it, in seconds. Source of the figures: 03-delivery, "Sweeper"."""

    poll_seconds: int = _seconds(30, 1, 300)
    lease_timeout_seconds: int = _seconds(300, 60, 3600)
    failed_retention_seconds: int = _seconds(3600, 60, 86400)
    # Two days at least: what events began without is looked for up to a day later.
    sent_retention_days: int = Field(default=90, ge=2, le=3650, description="a whole number of days from 2 to 3650")
    backoff_seconds: Annotated[
        tuple[Annotated[int, Strict(), Field(ge=1, le=86400)], ...],
        Strict(strict=False),
        AfterValidator(_never_falling),
    ] = Field(
        default=(30, 60, 120, 240, 480, 600),
        min_length=1,
        max_length=50,
        description="a list of 1 to 50 whole numbers of seconds from 1 to 86400, none below the one before",
    )
    permanent_retry_seconds: int = _seconds(3600, 60, 86400)
    post_timeout_seconds: int = _seconds(30, 1, 50)
    edit_debounce_seconds: int = _seconds(3, 1, 60)
    sweep_seconds: int = _seconds(60, 1, 3600)
    state_seconds: int = _seconds(60, 1, 3600)
    generate_seconds: int = _seconds(3600, 1, 86400)
    cleanup_seconds: int = _seconds(3600, 1, 86400)
    sync_seconds: int = _seconds(60, 1, 3600)


def _rate(default: float) -> float:
    return Field(default=default, ge=0.1, le=20, description="a number a second from 0.1 to 20")


class BreakerSettings(_Section):
    """When DMs rest since Discord does not answer. Source of the figures: dm-queue.txt, "Circuit breaker"."""

    failures: int = Field(default=50, ge=1, le=10_000, description="a whole number from 1 to 10000")
    window_seconds: int = _seconds(60, 1, 3600)
    open_seconds: int = _seconds(300, 1, 86400)


class DmQueueSettings(_Section):
    """How direct messages are paced. Source of the figures: 03-delivery, "DM queue"."""

    max_depth: int = Field(default=10_000, ge=2, le=1_000_000, description="a whole number from 2 to 1000000")
    drain_rate_per_second: float = _rate(5.0)
    max_in_flight: int = Field(default=32, ge=1, le=40, description="a whole number from 1 to 40")
    dm_timeout_seconds: int = _seconds(5, 1, 50)
    open_channels_per_second: float = _rate(1.0)
    opening_pause_seconds: int = _seconds(300, 10, 86400)
    breaker: BreakerSettings = BreakerSettings()


class LoggingSettings(_Section):
    """What is logged, and for whose eyes."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description='"debug", "info", "warning" or "error"'
    )
    format: Literal["console", "json"] = Field(default="console", description='"console" or "json"')


class ClusterSettings(_Section):
    """This process among several; an empty ``instance`` means the hostname."""

    # The default of dead_after_seconds is held against a heartbeat_seconds that was set.
    model_config = ConfigDict(validate_default=True)

    instance: str = Field(
        default="",
        pattern=r"^[A-Za-z0-9._-]{0,64}$",
        description="up to 64 letters, digits, dots, dashes and underscores",
    )
    heartbeat_seconds: int = _seconds(10, 1, 300)
    dead_after_seconds: int = _seconds(30, 2, 3600, ", at least twice heartbeat_seconds")

    @field_validator("dead_after_seconds")
    @classmethod
    def _two_beats(cls, seconds: int, checked: ValidationInfo) -> int:
        # One late heartbeat must not make a living process a dead one.
        if seconds < 2 * checked.data.get("heartbeat_seconds", 0):
            raise ValueError(seconds)
        return seconds


class Settings(BaseSettings):
    """
    Everything the operator may set; frozen. ``Settings()`` is the defaults, whatever the file and environment say.

    ``discord_token`` is None where none was given, which is enough for all but ``run``.
    """

    model_config = SettingsConfigDict(
        frozen=True, extra="forbid", strict=True, hide_input_in_errors=True, case_sensitive=True
    )

    discord: DiscordSettings = DiscordSettings()
    bot: BotSettings = BotSettings()
    database: DatabaseSettings = DatabaseSettings()
    process: ProcessSettings = ProcessSettings()
    reminders: RemindersSettings = RemindersSettings()
    dm_queue: DmQueueSettings = DmQueueSettings()
    logging: LoggingSettings = LoggingSettings()
    cluster: ClusterSettings = ClusterSettings()
    discord_token: Annotated[SecretStr, AfterValidator(_token_alone)] | None = Field(
        default=None, description='the token alone, without spaces and without a leading "Bot"'
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003  the library calls it by name, as the next four
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read nothing by itself: ``load_settings`` says where values come from."""
        return (init_settings,)
