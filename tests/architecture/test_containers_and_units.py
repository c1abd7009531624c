"""Checks of what tests cannot start: containers publish ports on the loopback only, units run commands that exist."""

import configparser
import importlib.util
import re
import subprocess
from pathlib import Path

import psycopg
import pytest
from ruamel.yaml import YAML
from sqlalchemy.engine import make_url

from deniable.cli.registry import lines_here
from infra.servers.prefect_pages import PAGES_THAT_ASK_NOBODY_ELSE
from infra.stack.postgres import programs
from infra.stack.settings import DATABASES
from stores.ledger.ledger import Ledger
from stores.ledger.roles import prepare_ledger
from tests.charging import policy
from tests.postgres import PASSWORD, server

PACKAGES = ["deniable", "schemas", "stores", "reports", "tasks", "infra", "flows"]
INFRA = Path(__file__).resolve().parents[2] / "infra"
COMPOSE = YAML(typ="safe", pure=True).load(INFRA / "compose.yaml")


def test_every_port_is_the_loopbacks() -> None:
    ports = [port for service in COMPOSE["services"].values() for port in service.get("ports", [])]
    assert len(ports) == 2
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_our_containers_run_as_an_ordinary_user_without_privileges() -> None:
    dockerfile = (INFRA / "Dockerfile").read_text()
    assert dockerfile.index("USER deniable") < dockerfile.index("ENTRYPOINT")
    ours = [service for service in COMPOSE["services"].values() if service["image"] == "deniable"]
    assert len(ours) == 5
    assert all(service["cap_drop"] == ["ALL"] and service["read_only"] for service in ours)


def test_no_password_stands_in_a_file_of_the_project() -> None:
    wanted = set(re.findall(r"\$\{(\w+)", (INFRA / "compose.yaml").read_text()))
    told = dict(re.findall(r"^(\w+)=(.*)$", (INFRA / "env.example").read_text(), flags=re.MULTILINE))
    assert told.keys() == wanted
    assert set(told.values()) == {""}


def test_the_image_has_what_it_copies_and_installs_only_pinned_things() -> None:
    dockerfile = (INFRA / "Dockerfile").read_text()
    copied = [name for line in re.findall(r"^COPY (.*) \S+$", dockerfile, flags=re.MULTILINE) for name in line.split()]
    assert len(copied) > 8
    assert all((INFRA.parent / name).exists() for name in copied)
    needed = subprocess.run(
        ["git", "ls-files", *PACKAGES], cwd=INFRA.parent, capture_output=True, text=True, check=True
    )
    modules = [path for path in needed.stdout.split() if path.endswith(".py")]
    assert len(modules) > 300
    assert [path for path in modules if not any(path == name or path.startswith(f"{name}/") for name in copied)] == []
    installed = re.findall(r"pip install (.*)", dockerfile)
    assert len(installed) == 3
    assert all("--require-hashes" in line or "--no-deps" in line for line in installed)


def test_containers_have_the_databases_of_the_stack() -> None:
    made = re.findall(r"CREATE DATABASE (\w+)", (INFRA / "databases.sql").read_text())
    assert sorted(made) == sorted(DATABASES)


@pytest.mark.slow
def test_what_works_with_the_ledger_in_containers_may_not_alter_it() -> None:
    """The file that makes the roles is run, and the ledger prepared as the container does it."""
    passwords = {f"DENIABLE_{name}_PASSWORD": PASSWORD for name in ("LEDGER", "LEDGER_OWNER", "SERVERS")}
    psql = [str(programs() / "psql"), "-v", "ON_ERROR_STOP=1", "-q", server().url(), "-f", str(INFRA / "databases.sql")]
    subprocess.run(psql, check=True, capture_output=True, env=passwords)
    told = {name: service["environment"] for name, service in COMPOSE["services"].items()}
    users = {name: make_url(told[name]["DENIABLE_LEDGER"]).username for name in ("ledger", "worker")}
    owner = make_url(told["ledger"]["DENIABLE_LEDGER_OWNER"]).username
    assert users == dict.fromkeys(users, "deniable_ledger")
    assert "OWNER" not in str(told["worker"])
    assert not re.findall(r"deniable:\$\{DENIABLE_POSTGRES", str(told))
    url = server().url("ledger").replace("//tests:", "//{}:")
    prepare_ledger(url.format(owner), "deniable_ledger")
    Ledger.open(url.format("deniable_ledger")).set_policy(policy(1))
    for user, error in (("deniable_ledger", "permission denied for table"), ("deniable_servers", "for database")):
        with pytest.raises(psycopg.Error, match=error), psycopg.connect(url.format(user)) as connection:
            connection.execute("DELETE FROM deniable_ledger")


def test_units_and_containers_start_commands_that_there_are() -> None:
    commands = []
    for path in (INFRA / "systemd").glob("*.service"):
        unit = configparser.ConfigParser(interpolation=None, strict=False)
        unit.optionxform = str  # type: ignore[assignment,method-assign]
        unit.read(path)
        commands += [value for name, value in unit["Service"].items() if name.startswith("Exec")]
        assert unit["Service"]["User"] == "deniable"
    told = {match for line in commands for match in re.findall(r"bin/deniable (\w+ \w+)", line)}
    assert told == {"servers stack", "servers backup"}
    ours = [each["command"] for each in COMPOSE["services"].values() if each.get("command", [""])[0] == "deniable"]
    told |= {" ".join(words[1:3]) for words in ours}
    assert told >= {"servers worker", "servers watch", "budget prepare"}
    assert told <= {line.name for line in lines_here()}


def test_prefects_container_is_told_what_makes_its_pages_ask_nobody_else() -> None:
    assert COMPOSE["services"]["prefect"]["environment"].items() >= PAGES_THAT_ASK_NOBODY_ELSE.items()


def test_containers_run_our_servers_and_those_know_their_names() -> None:
    for name in ("prefect", "mlflow"):
        service = COMPOSE["services"][name]
        assert service["command"][0] == f"infra.stack.{name}_server"
        assert importlib.util.find_spec(service["command"][0]) is not None
        assert service["environment"]["DENIABLE_SERVER_NAMES"] == name
