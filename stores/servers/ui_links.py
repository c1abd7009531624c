"""Addresses of the pages on which releases can be looked at, each with what makes it open the right view.

Those of MLflow's are relative to wherever it is served, so that they hold on every machine and port. What a page shows
does not belong here, and nothing that takes long to import.
"""

import os
import re
from collections.abc import Sequence
from ipaddress import ip_address
from urllib.parse import quote, urlencode, urlsplit

_MLFLOW_PAGES = "http://127.0.0.1:5000"
_PREFECT_PAGES = "http://127.0.0.1:4200"
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")
_ONLY_WHILE = "while `make ui` runs"

TRAINING_PAGES = "workflowType=machine_learning"
"""Without it MLflow opens its pages for language models, where a release is hard to find."""

RELEASES_VIEW = "releases"
"""The view that MLflow's page of a dataset opens with, kept with its experiment (stores.tracking.experiment_page)."""


def is_loopback_host(host: str) -> bool:
    """Whether a host is this machine, for this machine alone."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def mlflow_pages() -> str:
    """Where MLflow's pages are: at its server, or where `make ui` serves them, if nothing else is there."""
    store = os.environ.get("MLFLOW_TRACKING_URI", "")
    return _page_address(store) if store.startswith("http") else _MLFLOW_PAGES


def mlflow_shown_when() -> str:
    """When they are there, in words."""
    return _ONLY_WHILE if mlflow_pages() == _MLFLOW_PAGES else "by MLflow's server"


def prefect_pages() -> str:
    """Where Prefect's pages are: at a server that stays, or where `make ui` serves them, if nothing else is there."""
    server = os.environ.get("DENIABLE_PREFECT_API_URL", "")
    return _page_address(server).removesuffix("/api") if server else _PREFECT_PAGES


def prefect_shown_when() -> str:
    """When they are there, in words."""
    return _ONLY_WHILE if prefect_pages() == _PREFECT_PAGES else "by Prefect's server"


def registered_name(dataset: str) -> str:
    """What MLflow's registry calls the models of a dataset; some characters it takes in no name."""
    return dataset.translate(str.maketrans("/:", "__"))


def releases_page(experiment_id: str) -> str:
    """All releases of a dataset, with what they cost and how good they are."""
    return _page(f"experiments/{experiment_id}/runs", viewStateShareKey=RELEASES_VIEW)


def search_page(experiment_ids: Sequence[str], found_by: str) -> str:
    """The runs of some experiments that a filter finds."""
    if len(experiment_ids) == 1:
        return _page(f"experiments/{experiment_ids[0]}/runs", searchFilter=found_by)
    named = "[" + ",".join(f'"{number}"' for number in experiment_ids) + "]"
    return _page("compare-experiments/s", experiments=named, searchFilter=found_by)


def run_page(experiment_id: str, run_id: str) -> str:
    """The run of a release or of a step."""
    return _page(f"experiments/{experiment_id}/runs/{run_id}")


def artifact_page(experiment_id: str, run_id: str, path: str) -> str:
    """A file of a run, such as `internal/report.html`."""
    return _page(f"experiments/{experiment_id}/runs/{run_id}/artifacts/{quote(path)}")


def logged_model_page(experiment_id: str, model_id: str) -> str:
    """The model that one release has learnt."""
    return _page(f"experiments/{experiment_id}/models/{model_id}")


def registered_model_page(dataset: str) -> str:
    """The models of all releases of a dataset."""
    return _page(f"models/{quote(registered_name(dataset), safe='')}")


def version_page(dataset: str, version: str) -> str:
    """The model of one of them."""
    return _page(f"models/{quote(registered_name(dataset), safe='')}/versions/{version}")


def flow_run_page(flow_run_id: str) -> str:
    """How a release ran, in Prefect."""
    return f"{prefect_pages()}/runs/flow-run/{flow_run_id}"


def artifact_name(*words: str) -> str:
    """What Prefect calls an artifact: it takes small letters, digits and dashes, and lists all of one name together."""
    return _NOT_IN_NAMES.sub("-", "-".join(words).lower()).strip("-")


def _page_address(server: str) -> str:
    """The address of a server, without a user and a password that may stand in it."""
    parts = urlsplit(server)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"


def _page(path: str, **query: str) -> str:
    return f"#/{path}?{urlencode(query, quote_via=quote)}{'&' if query else ''}{TRAINING_PAGES}"
