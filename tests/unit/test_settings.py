import itertools
import json
import os
import re
import string
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr, ValidationError

from bot.errors import BotError
from bot.settings import MAX_FILE_BYTES, ClusterSettings, ConfigurationError, Settings, load_settings
from bot.settings.faults import KEYS
from bot.settings.sections import BreakerSettings

TOKEN = "MTAxMjM0NTY3ODkwMTIzNDU2Nw.GxYzAb.planted-planted-planted-planted-12"
PASSWORD = "planted-password"
CONFIG = Path(__file__).parents[2] / "config.toml"

# What is allowed, as the sentences put it.
POLL = "allowed is a whole number of seconds from 1 to 300."
DEAD = "allowed is a whole number of seconds from 2 to 3600, at least twice heartbeat_seconds."
BACKOFF = "allowed is a list of 1 to 50 whole numbers of seconds from 1 to 86400, none below the one before."
GUILDS = "allowed is a list of at most 1000 guild ids (whole numbers), empty for all."
ZONE = 'allowed is an IANA time zone such as "Europe/Berlin".'
API = 'allowed is "" or http(s)://HOST[:PORT]/PATH without name, password or a slash at the end.'
GATEWAY = 'allowed is "" or ws(s)://HOST[:PORT]/PATH without name or password.'
DATABASE = "allowed is sqlite://PATH or postgresql://NAME:PASSWORD@HOST:PORT/DATABASE, special characters as %XX."
ALONE = 'allowed is the token alone, without spaces and without a leading "Bot".'
RATE = "allowed is a number a second from 0.1 to 20."
FAILURES = "allowed is a whole number from 1 to 10000."
SECTIONS = "discord or bot or database or process or reminders or dm_queue or logging or cluster"
HUGE = "a number too large to show"

WriteConfig = Callable[[str | bytes], Path]


@pytest.fixture
def write_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WriteConfig:
    """Write ``config.toml`` into a working directory of its own; return the relative path, as an operator gives it."""
    monkeypatch.chdir(tmp_path)

    def write(content: str | bytes) -> Path:
        path = Path("config.toml")
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def faults_of(path: Path | None = None, environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    with pytest.raises(ConfigurationError) as caught:
        load_settings(path, environ or {})

    # Neither the library's own words nor its exception may reach the operator.
    assert "pydantic" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert str(caught.value) == "\n".join(caught.value.faults)
    assert all(re.search(r"[.?]$", fault) and fault.isprintable() for fault in caught.value.faults)
    return caught.value.faults


# ------------------------------------------------------------------------------------------- config.toml and the code


def leaves(table: Mapping[str, object], above: str = "") -> Iterator[tuple[str, object]]:
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def test_config_toml_names_every_key_with_the_default_of_the_code() -> None:
    written = dict(leaves(tomllib.loads(CONFIG.read_text("utf-8"))))

    coded = dict(leaves(Settings().model_dump(mode="json", exclude={"discord_token"})))
    coded["database.url"] = Settings().database.url.get_secret_value()

    assert written == coded
    assert {key: type(value) for key, value in written.items()} == {key: type(value) for key, value in coded.items()}


def test_config_toml_is_read_without_a_fault() -> None:
    assert load_settings(CONFIG, {}) == Settings()


def test_every_key_of_config_toml_has_one_comment_line() -> None:
    lines = CONFIG.read_text("utf-8").splitlines()

    for above, line in itertools.pairwise(lines):
        if re.match(r"\w+ = ", line):
            assert above.startswith("# ") or " # " in line, line


def test_the_comments_and_the_code_give_the_same_ranges() -> None:
    text = CONFIG.read_text("utf-8")

    named = {key: re.search(r"from ([\d.]+ to [\d.]+)", field.description or "") for key, field in KEYS.items()}

    bounds = {key[-1]: found[1] for key, found in named.items() if found}
    assert bounds["failures"] == "1 to 10000"
    assert bounds["drain_rate_per_second"] == "0.1 to 20"
    for key, between in bounds.items():
        # A comment may go on over a second line.
        assert re.search(rf"# .*\b{re.escape(between)}\b.*\n(# .*\n)?{key} = ", text), key


# ---------------------------------------------------------------------------------------------------------- precedence


def test_without_a_file_and_an_environment_the_defaults_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert load_settings(None, {}) == Settings()


def test_settings_made_in_code_read_neither_file_nor_environment(
    write_config: WriteConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_config("[reminders]\npoll_seconds = 77\n")
    for name in ("DISCORD_TOKEN", "discord_token", "TOCSIN__REMINDERS__POLL_SECONDS"):
        monkeypatch.setenv(name, "78")
    monkeypatch.setenv("REMINDERS", '{"poll_seconds": 79}')

    assert Settings().reminders.poll_seconds == 30
    assert Settings().discord_token is None


def test_the_environment_beats_the_file_and_the_file_the_default(write_config: WriteConfig) -> None:
    path = write_config("[reminders]\npoll_seconds = 10\nsweep_seconds = 11\n")

    loaded = load_settings(path, {"TOCSIN__REMINDERS__POLL_SECONDS": "12"})

    assert loaded.reminders.poll_seconds == 12
    assert loaded.reminders.sweep_seconds == 11
    assert loaded.reminders.state_seconds == 60


def test_a_section_in_a_section_is_put_together_from_all_three(write_config: WriteConfig) -> None:
    path = write_config("[dm_queue]\nmax_depth = 9\n[dm_queue.breaker]\nfailures = 9\nwindow_seconds = 8\n")

    loaded = load_settings(path, {"TOCSIN__DM_QUEUE__BREAKER__FAILURES": "7"})

    assert loaded.dm_queue.max_depth == 9
    assert loaded.dm_queue.breaker == BreakerSettings(failures=7, window_seconds=8, open_seconds=300)


def test_the_default_file_is_the_one_of_the_working_directory(write_config: WriteConfig) -> None:
    write_config("[reminders]\npoll_seconds = 10\n")

    assert load_settings(None, {}).reminders.poll_seconds == 10


def test_the_own_environment_is_read_where_none_is_given(
    write_config: WriteConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOCSIN__REMINDERS__POLL_SECONDS", "13")

    assert load_settings(write_config("")).reminders.poll_seconds == 13


def test_a_byte_order_mark_and_windows_line_ends_are_read(write_config: WriteConfig) -> None:
    path = write_config(b"\xef\xbb\xbf[reminders]\r\npoll_seconds = 10\r\n")

    assert load_settings(path, {}).reminders.poll_seconds == 10


@pytest.mark.parametrize(
    ("variable", "text", "section", "key", "value"),
    [
        ("TOCSIN__REMINDERS__POLL_SECONDS", "30", "reminders", "poll_seconds", 30),
        ("TOCSIN__REMINDERS__BACKOFF_SECONDS", "[1, 1, 2]", "reminders", "backoff_seconds", (1, 1, 2)),
        ("TOCSIN__BOT__GUILD_ALLOW_LIST", "[81384788765712384]", "bot", "guild_allow_list", (81384788765712384,)),
        ("TOCSIN__BOT__GUILD_ALLOW_LIST", "[]", "bot", "guild_allow_list", ()),
        ("TOCSIN__BOT__DEFAULT_TIMEZONE", "Europe/Berlin", "bot", "default_timezone", "Europe/Berlin"),
        ("TOCSIN__DATABASE__AUTO_MIGRATE", "false", "database", "auto_migrate", False),
        ("TOCSIN__DATABASE__AUTO_MIGRATE", "1", "database", "auto_migrate", True),
        ("TOCSIN__DISCORD__API_BASE", "", "discord", "api_base", ""),
        (
            "TOCSIN__DISCORD__API_BASE",
            "http://127.0.0.1:8/api/v10",
            "discord",
            "api_base",
            "http://127.0.0.1:8/api/v10",
        ),
        ("TOCSIN__DISCORD__GATEWAY_URL", "ws://127.0.0.1:8/gw/", "discord", "gateway_url", "ws://127.0.0.1:8/gw/"),
        ("TOCSIN__LOGGING__FORMAT", "json", "logging", "format", "json"),
        ("TOCSIN__CLUSTER__INSTANCE", "30", "cluster", "instance", "30"),
        ("TOCSIN__DM_QUEUE__DRAIN_RATE_PER_SECOND", "0.5", "dm_queue", "drain_rate_per_second", 0.5),
        ("TOCSIN__DM_QUEUE__DRAIN_RATE_PER_SECOND", "5", "dm_queue", "drain_rate_per_second", 5.0),
        ("TOCSIN__DM_QUEUE__DRAIN_RATE_PER_SECOND", "2e1", "dm_queue", "drain_rate_per_second", 20.0),
        ("TOCSIN__DM_QUEUE__MAX_DEPTH", "2", "dm_queue", "max_depth", 2),
    ],
)
def test_the_text_of_the_environment_is_taken_for_what_it_stands_for(
    variable: str, text: str, section: str, key: str, value: object
) -> None:
    loaded = load_settings(CONFIG, {variable: text})

    assert getattr(getattr(loaded, section), key) == value


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        Settings().reminders.poll_seconds = 1

    with pytest.raises(ValidationError):
        Settings().cluster = ClusterSettings()


# ------------------------------------------------------------------------------------------------------------- secrets


def test_the_token_comes_from_the_environment_and_stays_out_of_every_repr() -> None:
    loaded = load_settings(CONFIG, {"DISCORD_TOKEN": f" {TOKEN}\n"})

    assert loaded.discord_token is not None
    assert loaded.discord_token.get_secret_value() == TOKEN
    assert TOKEN not in f"{loaded} {loaded!r} {loaded.model_dump_json()}"


def test_secrets_are_read_from_files(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\n", "utf-8")
    (tmp_path / "url").write_text(f"postgresql://bot:{PASSWORD}@db/tocsin\n", "utf-8")

    loaded = load_settings(
        CONFIG, {"DISCORD_TOKEN_FILE": str(tmp_path / "token"), "DATABASE_URL_FILE": str(tmp_path / "url")}
    )

    assert loaded.discord_token == SecretStr(TOKEN)
    assert loaded.database.url == SecretStr(f"postgresql://bot:{PASSWORD}@db/tocsin")
    assert PASSWORD not in repr(loaded)


def test_database_url_beats_the_other_variable_and_the_file(write_config: WriteConfig) -> None:
    path = write_config('[database]\nurl = "sqlite://a.db"\n')

    loaded = load_settings(path, {"DATABASE_URL": "sqlite://c.db", "TOCSIN__DATABASE__URL": "sqlite://b.db"})

    assert loaded.database.url.get_secret_value() == "sqlite://c.db"


@pytest.mark.parametrize("empty", ["", " \n"])
def test_an_empty_secret_counts_as_not_set(empty: str) -> None:
    loaded = load_settings(CONFIG, {"DISCORD_TOKEN": empty, "DATABASE_URL": empty, "DISCORD_TOKEN_FILE": ""})

    assert loaded == Settings()


@pytest.mark.parametrize(
    ("text", "key", "variable"),
    [
        (f'token = "{TOKEN}"', "token", "DISCORD_TOKEN"),
        (f'discord_token = "{TOKEN}"', "discord_token", "DISCORD_TOKEN"),
        (f'[discord_token]\nvalue = "{TOKEN}"', "discord_token", "DISCORD_TOKEN"),
        (f'[discord]\ntoken = "{TOKEN}"', "discord.token", "DISCORD_TOKEN"),
        (f'[bot]\nTOKEN = "{TOKEN}"', "bot.TOKEN", "DISCORD_TOKEN"),
        (f'[database]\npassword = "{PASSWORD}"', "database.password", "DATABASE_URL"),
        (f'[dm_queue.breaker]\ntoken = "{TOKEN}"', "dm_queue.breaker.token", "DISCORD_TOKEN"),
        (f'[bot]\nadt_token = "{PASSWORD}"', "bot.adt_token", "ADT_TOKEN"),
        (f'[database]\nurl = "postgres://bot:{PASSWORD}@db/x"', "database.url", "DATABASE_URL"),
        (f'[database]\nurl = "postgres://bot:#/{PASSWORD}@db/x"', "database.url", "DATABASE_URL"),
        (f'[database]\nurl = "postgres://db/x?password={PASSWORD}"', "database.url", "DATABASE_URL"),
    ],
)
def test_a_secret_in_the_file_is_sent_to_the_environment(
    write_config: WriteConfig, text: str, key: str, variable: str
) -> None:
    faults = faults_of(write_config(text))

    place = f"config.toml: {key} holds a secret, allowed in the environment only"
    assert faults == (f"{place}: take it out and set {variable} or {variable}_FILE.",)


@pytest.mark.parametrize(
    ("environ", "sentence"),
    [
        ({"DISCORD_TOKEN": f"Bot {TOKEN}"}, f"DISCORD_TOKEN is a text that is not shown, {ALONE}"),
        ({"DATABASE_URL": f"mysql://bot:{PASSWORD}@db/x"}, f"DATABASE_URL is a text that is not shown, {DATABASE}"),
        (
            {"DISCORD_TOKEN": TOKEN, "DISCORD_TOKEN_FILE": "/run/token"},
            "DISCORD_TOKEN and DISCORD_TOKEN_FILE are both set, allowed is one of them.",
        ),
        ({"DISCORD_TOKEN_FILE": "/nowhere"}, 'DISCORD_TOKEN_FILE names "/nowhere", which does not exist.'),
        ({"DISCORD_TOKEN_FILE": "/"}, 'DISCORD_TOKEN_FILE names "/", which is a directory, allowed is a file.'),
        (
            {"DISCORD_TOKEN_FILE": "/dev/null"},
            'DISCORD_TOKEN_FILE names "/dev/null", which is a device or pipe, allowed is a file.',
        ),
        (
            {"DISCORD_TOKEN_FILE": TOKEN},
            f"DISCORD_TOKEN_FILE names a text of {len(TOKEN)} characters, which does not exist.",
        ),
        (
            {"TOCSIN__DISCORD__TOKEN": TOKEN},
            "TOCSIN__DISCORD__TOKEN is not a setting, allowed is DISCORD_TOKEN or DISCORD_TOKEN_FILE.",
        ),
    ],
)
def test_a_wrong_secret_is_named_and_never_shown(environ: dict[str, str], sentence: str) -> None:
    faults = faults_of(CONFIG, environ)

    assert faults == (sentence,)


def test_an_empty_secret_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").write_text("\n", "utf-8")

    faults = faults_of(None, {"DATABASE_URL_FILE": "empty"})

    assert faults == ('DATABASE_URL_FILE names "empty", which is empty, allowed is a file that holds the secret.',)


@pytest.mark.parametrize(
    "url",
    [
        "sqlite://",
        "sqlite:data.db",
        "sqlite://a.db?mode=ro",
        "sqlite://a\n.db",
        "postgres://db",
        "postgres:///x",
        "postgresql://db/",
        "postgresql://db:port/x",
        "postgresql://[::1/x",
        f"postgresql://bot:a#{PASSWORD}@db/x",
        "asyncpg://db/x",
        "tocsin.db",
        "\udc80",
    ],
)
def test_a_wrong_database_address_is_refused(url: str) -> None:
    faults = faults_of(CONFIG, {"DATABASE_URL": url})

    assert len(faults) == 1
    assert faults[0].startswith("DATABASE_URL is a text that is not shown, allowed is sqlite://PATH or postgresql://")


@pytest.mark.parametrize(
    "url",
    [
        "sqlite://data/tocsin.db",
        "sqlite:///var/lib/tocsin/my data.db",
        "sqlite://:memory:",
        "postgres://db/x",
        f"postgresql://bot:{PASSWORD}@[::1]:5432/x",
        "postgresql://bot@/x?host=/run/postgresql",
    ],
)
def test_a_right_database_address_is_taken(url: str) -> None:
    assert load_settings(CONFIG, {"DATABASE_URL": url}).database.url.get_secret_value() == url


# ------------------------------------------------------------------------------------------------------ faulty values


@pytest.mark.parametrize(
    ("text", "rate"),
    [("5", 5.0), ("0.1", 0.1), ("20", 20.0), ("20.0", 20.0), ("1e1", 10.0)],
    ids=lambda value: f"{value}",
)
def test_a_rate_may_be_written_with_and_without_a_fraction(write_config: WriteConfig, text: str, rate: float) -> None:
    loaded = load_settings(write_config(f"[dm_queue]\ndrain_rate_per_second = {text}\n"), {})

    assert loaded.dm_queue.drain_rate_per_second == rate
    assert isinstance(loaded.dm_queue.drain_rate_per_second, float)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('[reminders]\npoll_seconds = "30"', f'reminders.poll_seconds is "30", {POLL}'),
        ("[reminders]\npoll_seconds = 0", f"reminders.poll_seconds is 0, {POLL}"),
        ("[reminders]\npoll_seconds = 301", f"reminders.poll_seconds is 301, {POLL}"),
        ("[reminders]\npoll_seconds = 30.0", f"reminders.poll_seconds is 30.0, {POLL}"),
        ("[reminders]\npoll_seconds = true", f"reminders.poll_seconds is true, {POLL}"),
        ("[reminders]\npoll_seconds = nan", f"reminders.poll_seconds is nan, {POLL}"),
        ("[reminders]\npoll_seconds = -inf", f"reminders.poll_seconds is -inf, {POLL}"),
        ("[reminders]\npoll_seconds = 2026-01-01", f"reminders.poll_seconds is a date, {POLL}"),
        ("[reminders]\npoll_seconds = 0x" + "f" * 9000, f"reminders.poll_seconds is {HUGE}, {POLL}"),
        ("[reminders]\nbackoff_seconds = []", f"reminders.backoff_seconds is [], {BACKOFF}"),
        (
            '[reminders]\nbackoff_seconds = [60, 30, "x", [1]]',
            f'reminders.backoff_seconds is [60, 30, "x", a list], {BACKOFF}',
        ),
        ("[reminders]\nbackoff_seconds = [60, 30]", f"reminders.backoff_seconds is [60, 30], {BACKOFF}"),
        ("[reminders]\nbackoff_seconds = [0, 30]", f"reminders.backoff_seconds is [0, 30], {BACKOFF}"),
        ("[bot]\nguild_allow_list = [-1, true]", f"bot.guild_allow_list is [-1, true], {GUILDS}"),
        ("[bot]\nguild_allow_list = 5", f"bot.guild_allow_list is 5, {GUILDS}"),
        ('[bot]\ndefault_timezone = "Europe/Berln"', f'bot.default_timezone is "Europe/Berln", {ZONE}'),
        ('[bot]\ndefault_timezone = "../../etc/passwd"', f'bot.default_timezone is "../../etc/passwd", {ZONE}'),
        ('[bot]\ndefault_timezone = "Europe"', f'bot.default_timezone is "Europe", {ZONE}'),
        ('[bot]\ndefault_timezone = ""', f'bot.default_timezone is "", {ZONE}'),
        ('[bot]\ndefault_timezone = "a\\u0000\\nb"', f'bot.default_timezone is "a\\u0000\\nb", {ZONE}'),
        ('[logging]\nlevel = "loud"', 'logging.level is "loud", allowed is "debug", "info", "warning" or "error".'),
        ('[logging]\nformat = "xml"', 'logging.format is "xml", allowed is "console" or "json".'),
        ('[database]\nauto_migrate = "yes"', 'database.auto_migrate is "yes", allowed is true or false.'),
        ("[database]\nauto_migrate = 1", "database.auto_migrate is 1, allowed is true or false."),
        ("[database]\npool_size = 51", "database.pool_size is 51, allowed is a whole number from 1 to 50."),
        ("[database]\nurl = 5", f"database.url is 5, {DATABASE}"),
        (
            f'[discord]\napi_base = "https://bot:{PASSWORD}@proxy/api"',
            f"discord.api_base is a text of 38 characters, {API}",
        ),
        ('[discord]\napi_base = "https://proxy/api/"', f'discord.api_base is "https://proxy/api/", {API}'),
        ('[discord]\ngateway_url = "https://proxy"', f'discord.gateway_url is "https://proxy", {GATEWAY}'),
        (
            '[cluster]\ninstance = "a b"',
            'cluster.instance is "a b", allowed is up to 64 letters, digits, dots, dashes and underscores.',
        ),
        ("[cluster]\ndead_after_seconds = 19", f"cluster.dead_after_seconds is 19, {DEAD}"),
        ("[dm_queue]\ndrain_rate_per_second = nan", f"dm_queue.drain_rate_per_second is nan, {RATE}"),
        ("[dm_queue]\ndrain_rate_per_second = inf", f"dm_queue.drain_rate_per_second is inf, {RATE}"),
        ("[dm_queue]\ndrain_rate_per_second = -inf", f"dm_queue.drain_rate_per_second is -inf, {RATE}"),
        ("[dm_queue]\ndrain_rate_per_second = 1e400", f"dm_queue.drain_rate_per_second is inf, {RATE}"),
        ("[dm_queue]\ndrain_rate_per_second = 0", f"dm_queue.drain_rate_per_second is 0, {RATE}"),
        ("[dm_queue]\ndrain_rate_per_second = 0.09", f"dm_queue.drain_rate_per_second is 0.09, {RATE}"),
        ("[dm_queue]\ndrain_rate_per_second = 20.01", f"dm_queue.drain_rate_per_second is 20.01, {RATE}"),
        ('[dm_queue]\ndrain_rate_per_second = "5"', f'dm_queue.drain_rate_per_second is "5", {RATE}'),
        ("[dm_queue]\ndrain_rate_per_second = true", f"dm_queue.drain_rate_per_second is true, {RATE}"),
        ("[dm_queue]\ndrain_rate_per_second = [5]", f"dm_queue.drain_rate_per_second is [5], {RATE}"),
        ("[dm_queue]\ndrain_rate_per_second = 0x" + "f" * 9000, f"dm_queue.drain_rate_per_second is {HUGE}, {RATE}"),
        ("[dm_queue]\nopen_channels_per_second = 0", f"dm_queue.open_channels_per_second is 0, {RATE}"),
        ("[dm_queue]\nmax_depth = 1", "dm_queue.max_depth is 1, allowed is a whole number from 2 to 1000000."),
        ("[dm_queue]\nmax_in_flight = 41", "dm_queue.max_in_flight is 41, allowed is a whole number from 1 to 40."),
        ("[dm_queue.breaker]\nfailures = 0", f"dm_queue.breaker.failures is 0, {FAILURES}"),
        ("[dm_queue.breaker]\nfailures = 5.0", f"dm_queue.breaker.failures is 5.0, {FAILURES}"),
        ("[dm_queue]\nbreaker = 3", "dm_queue.breaker is 3, allowed is a section [dm_queue.breaker] with keys."),
        (
            "[[dm_queue.breaker]]\nfailures = 3",
            "dm_queue.breaker is [a section], allowed is a section [dm_queue.breaker] with keys.",
        ),
        ("reminders = 5", "reminders is 5, allowed is a section [reminders] with keys."),
        ("[[reminders]]\na = 5", "reminders is [a section], allowed is a section [reminders] with keys."),
    ],
)
def test_a_wrong_value_is_one_sentence_with_file_key_found_and_allowed(
    write_config: WriteConfig, text: str, sentence: str
) -> None:
    faults = faults_of(write_config(text))

    assert faults == (f"config.toml: {sentence}",)


def test_a_default_that_no_longer_fits_another_key_is_named_as_a_default(write_config: WriteConfig) -> None:
    faults = faults_of(write_config("[cluster]\nheartbeat_seconds = 16\n"))

    assert faults == (f"cluster.dead_after_seconds is 30 by default, {DEAD}",)


def test_exactly_twice_the_heartbeat_is_enough(write_config: WriteConfig) -> None:
    path = write_config("[cluster]\nheartbeat_seconds = 15\ndead_after_seconds = 30\n")

    assert load_settings(path, {}).cluster.dead_after_seconds == 30


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "[reminders]\npol_seconds = 5",
            "reminders.pol_seconds is not a setting, did you mean reminders.poll_seconds?",
        ),
        ("[remindrs]\npoll_seconds = 5", "remindrs is not a setting, did you mean reminders?"),
        ("poll_seconds = 5", "poll_seconds is not a setting, did you mean reminders.poll_seconds?"),
        ("[bot]\npool_size = 5", "bot.pool_size is not a setting, did you mean database.pool_size?"),
        ("[Bot]\ndefault_timezone = 'UTC'", "Bot is not a setting, did you mean bot?"),
        ("[logging]\nLEVEL = 'info'", "logging.LEVEL is not a setting, did you mean logging.level?"),
        (
            "[dm_queue.breaker]\nfailure = 3",
            "dm_queue.breaker.failure is not a setting, did you mean dm_queue.breaker.failures?",
        ),
        ("[dm_queue]\nfailures = 3", "dm_queue.failures is not a setting, did you mean dm_queue.breaker.failures?"),
        ("[dm_queue.braker]\nfailures = 3", "dm_queue.braker is not a setting, did you mean dm_queue.breaker?"),
        ("[breaker]\nfailures = 3", "breaker is not a setting, did you mean dm_queue.breaker?"),
        ("[dm_queue.breaker.x]\nfailures = 3", "dm_queue.breaker.x is not a setting, did you mean dm_queue.breaker?"),
        ("[zzz]", f"zzz is not a setting, allowed is {SECTIONS}."),
        (
            "[logging]\n'qqqqqqqqqqqqqq\\n' = 5",
            'logging."qqqqqqqqqqqqqq\\\\n" is not a setting, allowed is logging.level or logging.format.',
        ),
        (
            "[process]\n" + "q" * 100 + " = 5",
            "process.a text of 100 characters is not a setting, allowed is process.shutdown_grace_seconds.",
        ),
        # The settings library's own arguments, which must not be taken for them.
        ("_cli_parse_args = true", "_cli_parse_args is not a setting, allowed is "),
        ("_build_sources = 5", "_build_sources is not a setting, allowed is "),
        ("_env_file = 'x'", "_env_file is not a setting, allowed is "),
    ],
)
def test_an_unknown_key_is_named_with_the_likeliest_one_meant(
    write_config: WriteConfig, text: str, sentence: str
) -> None:
    faults = faults_of(write_config(text))

    assert len(faults) == 1
    assert faults[0].startswith(f"config.toml: {sentence}")


@pytest.mark.parametrize(
    ("environ", "sentence"),
    [
        ({"TOCSIN__REMINDERS__POLL_SECONDS": "soon"}, f'TOCSIN__REMINDERS__POLL_SECONDS is "soon", {POLL}'),
        ({"TOCSIN__REMINDERS__POLL_SECONDS": ""}, f'TOCSIN__REMINDERS__POLL_SECONDS is "", {POLL}'),
        ({"TOCSIN__REMINDERS__POLL_SECONDS": "nan"}, f'TOCSIN__REMINDERS__POLL_SECONDS is "nan", {POLL}'),
        *(
            (
                {"TOCSIN__DM_QUEUE__DRAIN_RATE_PER_SECOND": text},
                f"TOCSIN__DM_QUEUE__DRAIN_RATE_PER_SECOND is {shown}, {RATE}",
            )
            for text, shown in [
                ("nan", "nan"),
                ("inf", "inf"),
                ("-inf", "-inf"),
                ("1e400", "inf"),
                ("0", "0.0"),
                ("21", "21.0"),
                ("", '""'),
                ("fast", '"fast"'),
                ("true", '"true"'),
            ]
        ),
        (
            {"TOCSIN__DM_QUEUE__BREAKER__FAILURES": "0"},
            f"TOCSIN__DM_QUEUE__BREAKER__FAILURES is 0, {FAILURES}",
        ),
        (
            {"TOCSIN__DM_QUEUE__BREAKER": "7"},
            "TOCSIN__DM_QUEUE__BREAKER is not a setting, did you mean TOCSIN__DM_QUEUE__BREAKER__FAILURES?",
        ),
        (
            {"TOCSIN__DATABASE__AUTO_MIGRATE": "maybe"},
            'TOCSIN__DATABASE__AUTO_MIGRATE is "maybe", allowed is true or false.',
        ),
        ({"TOCSIN__BOT__GUILD_ALLOW_LIST": "1,2"}, f'TOCSIN__BOT__GUILD_ALLOW_LIST is "1,2", {GUILDS}'),
        (
            {"TOCSIN__BOT__GUILD_ALLOW_LIST": "[" * 100_000},
            f"TOCSIN__BOT__GUILD_ALLOW_LIST is a text of 100000 characters, {GUILDS}",
        ),
        ({"TOCSIN__BOT__GUILD_ALLOW_LIST": "[NaN]"}, f"TOCSIN__BOT__GUILD_ALLOW_LIST is [nan], {GUILDS}"),
        (
            {"TOCSIN__REMINDERS__POL_SECONDS": "5"},
            "TOCSIN__REMINDERS__POL_SECONDS is not a setting, did you mean TOCSIN__REMINDERS__POLL_SECONDS?",
        ),
        (
            {"TOCSIN__reminders__poll_seconds": "5"},
            "TOCSIN__reminders__poll_seconds is not a setting, did you mean TOCSIN__REMINDERS__POLL_SECONDS?",
        ),
        (
            {"TOCSIN__ZZZZZZZZZZZZZZZZZZZZZ": "5"},
            "TOCSIN__ZZZZZZZZZZZZZZZZZZZZZ is not a setting, allowed is what config.toml of Tocsin lists.",
        ),
    ],
)
def test_a_wrong_variable_is_one_sentence_that_names_it(environ: dict[str, str], sentence: str) -> None:
    faults = faults_of(CONFIG, environ)

    assert len(faults) == 1
    assert faults[0].startswith(sentence)


def test_all_faults_of_the_file_and_the_environment_are_told_at_once(write_config: WriteConfig) -> None:
    path = write_config(
        f'[reminders]\npoll_seconds = "30"\nsweep_second = 5\n[database]\npool_size = 0\n[bot]\ntoken = "{TOKEN}"\n'
    )

    faults = faults_of(path, {"TOCSIN__LOGGING__LEVEL": "loud", "TOCSIN__NOTHING__AT_ALL": "1", "DATABASE_URL": "x"})

    assert len(faults) == 7
    told = "\n".join(faults)
    for name in ("poll_seconds", "sweep_second ", "pool_size", "bot.token", "LEVEL", "AT_ALL", "DATABASE_URL is"):
        assert name in told
    assert TOKEN not in told


def test_faults_of_the_environment_are_told_beside_an_unreadable_file(write_config: WriteConfig) -> None:
    faults = faults_of(write_config("[bot"), {"TOCSIN__LOGGING__LEVEL": "loud"})

    assert len(faults) == 2


def test_three_faults_in_one_file_are_three_sentences(write_config: WriteConfig) -> None:
    path = write_config('[reminders]\npoll_seconds = "30"\n[logging]\nlevel = "loud"\n[cluster]\ninstance = 5\n')

    faults = faults_of(path)

    assert [fault.split(" is ")[0] for fault in faults] == [
        "config.toml: reminders.poll_seconds",
        "config.toml: logging.level",
        "config.toml: cluster.instance",
    ]


@pytest.mark.parametrize(
    ("count", "told", "last"), [(100, 100, "?"), (101, 101, "Not named: 1 more."), (5000, 101, ".")]
)
def test_of_more_than_a_hundred_faults_a_hundred_are_told(
    write_config: WriteConfig, count: int, told: int, last: str
) -> None:
    text = "[reminders]\n" + "".join(f"poll_seconds_{number} = 1\n" for number in range(count))

    faults = faults_of(write_config(text))

    assert len(faults) == told
    assert faults[-1].endswith(last)


# -------------------------------------------------------------------------------------------------------- faulty files


def test_a_file_that_was_named_must_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert faults_of(Path("other.toml")) == ("other.toml does not exist.",)
    assert faults_of(Path("config.toml")) == ("config.toml does not exist.",)


def test_a_default_file_that_points_nowhere_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.toml").symlink_to("gone.toml")

    assert faults_of() == ("config.toml does not exist.",)


def test_a_directory_a_pipe_and_an_impossible_name_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.toml").mkdir()
    os.mkfifo("pipe")

    assert faults_of() == ("config.toml is a directory, allowed is a file.",)
    assert faults_of(Path("pipe")) == ("pipe is a device or pipe, allowed is a file.",)
    assert faults_of(Path("config.toml/" + "x" * 300))[0].endswith("cannot be read (File name too long).")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"[bot]\n# \xe9\n", "config.toml is not UTF-8 text in line 2, allowed is UTF-8."),
        (b"\xff\xfe[\x00", "config.toml is not UTF-8 text in line 1, allowed is UTF-8."),
        (b"[bot]\nx = \n", "config.toml is not valid TOML at line 2, column 5, allowed is TOML 1.0."),
        (f'[bot]\ntoken = "{TOKEN}\n'.encode(), "config.toml is not valid TOML at line 2, column "),
        (b"[bot]\n[bot]\n", "config.toml is not valid TOML at line 2, column 5, allowed is TOML 1.0."),
        (b"[bot", "config.toml is not valid TOML at end of document, allowed is TOML 1.0."),
        (b"x = " + b"9" * 5000, "config.toml is not valid TOML at an unknown place, allowed is TOML 1.0."),
        (
            b"x = " + b"[" * 5000,
            "config.toml nests its values too deeply to be read, allowed is [section] and key = value.",
        ),
        (b"#" * 10 * MAX_FILE_BYTES, "config.toml is larger than 1 MB, allowed is less."),
        (b"#" * (MAX_FILE_BYTES + 1), "config.toml is larger than 1 MB, allowed is less."),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_a_file_that_cannot_be_read_is_one_sentence(write_config: WriteConfig, content: bytes, sentence: str) -> None:
    faults = faults_of(write_config(content))

    assert len(faults) == 1
    assert faults[0].startswith(sentence)
    assert "planted" not in faults[0]


def test_a_file_of_exactly_one_megabyte_is_read(write_config: WriteConfig) -> None:
    assert load_settings(write_config(b"#" * MAX_FILE_BYTES), {}) == Settings()


def test_the_refusal_is_one_that_the_bot_answers_with() -> None:
    assert issubclass(ConfigurationError, BotError)
    assert str(ConfigurationError(("One.", "Two."))) == "One.\nTwo."


# ---------------------------------------------------------------------------------------------------------------- fuzz


NAMES = st.sampled_from(
    ["discord", "bot", "reminders", "cluster", "database", "url", "poll_seconds", "backoff_seconds", "level", "token"]
) | st.text(string.printable + "\u00e9\u2028", max_size=12)
SECRETS = st.sampled_from([TOKEN, f"postgres://bot:{PASSWORD}@db/x", f"https://:{PASSWORD}@proxy"])
SCALARS = SECRETS | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4))
TREES = st.dictionaries(NAMES, st.dictionaries(NAMES, VALUES, max_size=4) | VALUES, max_size=5)


def as_toml(value: object) -> str:
    match value:
        case dict():
            return "{" + ", ".join(f"{json.dumps(name)} = {as_toml(item)}" for name, item in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(as_toml, value)) + "]"
        case str():
            # JSON writes a character outside the basic plane as two surrogates, which TOML refuses.
            return "".join(f"\\U{ord(letter):08x}" for letter in value).join('""')
        case _:
            return str(value).lower()


def told_by(path: Path, environ: Mapping[str, str]) -> str:
    """Return all that an operator could see of one reading; anything but the one refusal is a test's failure."""
    try:
        return repr(load_settings(path, environ))
    except ConfigurationError as refusal:
        return f"{refusal}\n{refusal.faults}"


def check_only_the_one_refusal(path: Path, environ: Mapping[str, str]) -> None:
    told = told_by(path, environ)

    assert "planted" not in told
    assert told.replace("\n", "").isprintable()


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "config.toml"


@given(content=st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8", "replace")))
@settings(deadline=None)
def test_of_random_bytes_nothing_but_the_one_refusal_comes(fuzzed: Path, content: bytes) -> None:
    fuzzed.write_bytes(content + f'\ntoken = "{TOKEN}"'.encode())

    check_only_the_one_refusal(fuzzed, {})


@given(tree=TREES)
@settings(deadline=None, max_examples=300)
def test_of_a_random_tree_nothing_but_the_one_refusal_comes(fuzzed: Path, tree: dict[str, object]) -> None:
    text = "\n".join(f"{json.dumps(name)} = {as_toml(value)}" for name, value in tree.items())
    fuzzed.write_text(text, "utf-8")

    check_only_the_one_refusal(fuzzed, {})


@given(
    environ=st.dictionaries(
        st.sampled_from(
            [
                "DISCORD_TOKEN",
                "DISCORD_TOKEN_FILE",
                "DATABASE_URL",
                "DATABASE_URL_FILE",
                "TOCSIN__BOT__GUILD_ALLOW_LIST",
                "TOCSIN__BOT__TOKEN",
                "TOCSIN__DATABASE__AUTO_MIGRATE",
                "TOCSIN__DATABASE__URL",
                "TOCSIN__REMINDERS__POLL_SECONDS",
            ]
        )
        | st.text(max_size=10).map(lambda name: f"TOCSIN__{name}"),
        SECRETS | st.text(st.characters(exclude_characters="\0"), max_size=60) | VALUES.map(str),
        max_size=5,
    )
)
@settings(deadline=None)
def test_of_a_random_environment_nothing_but_the_one_refusal_comes(environ: dict[str, str]) -> None:
    check_only_the_one_refusal(CONFIG, environ)
