"""What the tests cannot start is at least what it says: containers that listen inward, units that run what there is."""

import configparser
import importlib.util
import re
from pathlib import Path

from ruamel.yaml import YAML

from flows.prefect_pages import PAGES_THAT_ASK_NOBODY_ELSE
from flows.stack.settings import DATABASES

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
    assert len(ours) == 3
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
    installed = re.findall(r"pip install (.*)", dockerfile)
    assert len(installed) == 3
    assert all("--require-hashes" in line or "--no-deps" in line for line in installed)


def test_containers_have_the_databases_of_the_stack() -> None:
    made = re.findall(r"CREATE DATABASE (\w+)", (INFRA / "databases.sql").read_text())
    assert sorted(made) == sorted(DATABASES)


def test_units_start_commands_that_there_are() -> None:
    commands = []
    for path in (INFRA / "systemd").glob("*.service"):
        unit = configparser.ConfigParser(interpolation=None, strict=False)
        unit.optionxform = str  # type: ignore[assignment,method-assign]
        unit.read(path)
        commands += [value for name, value in unit["Service"].items() if name.startswith("Exec")]
        assert unit["Service"]["User"] == "deniable"
    told = {match for line in commands for match in re.findall(r"-m flows (\w+)", line)}
    assert told == {"stack", "backup"}


def test_prefects_container_is_told_what_makes_its_pages_ask_nobody_else() -> None:
    assert COMPOSE["services"]["prefect"]["environment"].items() >= PAGES_THAT_ASK_NOBODY_ELSE.items()


def test_containers_run_our_servers_and_those_know_their_names() -> None:
    for name in ("prefect", "mlflow"):
        service = COMPOSE["services"][name]
        assert service["command"][0] == f"flows.stack.{name}_server"
        assert importlib.util.find_spec(service["command"][0]) is not None
        assert service["environment"]["DENIABLE_SERVER_NAMES"] == name
