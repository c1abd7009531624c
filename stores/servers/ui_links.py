"""Addresses of the pages that show releases, with the parameters for the right view.

Addresses of MLflow pages are relative to its server, so they are valid on every machine and port. The content of pages
does not belong here, nor do slow imports.
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
"""Without this parameter, MLflow opens its pages for language models, where a release is hard to find."""

RELEASES_VIEW = "releases"
"""The initial view of MLflow's page of a dataset, stored with its experiment (stores.tracking.experiment_page)."""


def is_loopback_host(host: str) -> bool:
    """Whether a host is this machine and cannot be reached from others."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def mlflow_pages() -> str:
    """Address of MLflow's pages: its server, or else the address of `make ui`."""
    store = os.environ.get("MLFLOW_TRACKING_URI", "")
    return _page_address(store) if store.startswith("http") else _MLFLOW_PAGES


def mlflow_shown_when() -> str:
    """When the pages are available, in words."""
    return _ONLY_WHILE if mlflow_pages() == _MLFLOW_PAGES else "by MLflow's server"


def prefect_pages() -> str:
    """Address of Prefect's pages: a permanent server, or else the address of `make ui`."""
    server = os.environ.get("DENIABLE_PREFECT_API_URL", "")
    return _page_address(server).removesuffix("/api") if server else _PREFECT_PAGES


def prefect_shown_when() -> str:
    """When the pages are available, in words."""
    return _ONLY_WHILE if prefect_pages() == _PREFECT_PAGES else "by Prefect's server"


def registered_name(dataset: str) -> str:
    """Name of a dataset's models in MLflow's registry, without the characters that it does not accept in names."""
    return dataset.translate(str.maketrans("/:", "__"))


def releases_page(experiment_id: str) -> str:
    """All releases of a dataset, with their costs and their quality."""
    return _page(f"experiments/{experiment_id}/runs", viewStateShareKey=RELEASES_VIEW)


def search_page(experiment_ids: Sequence[str], found_by: str) -> str:
    """The runs in some experiments that match a filter."""
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
    """The model of one release."""
    return _page(f"models/{quote(registered_name(dataset), safe='')}/versions/{version}")


def flow_run_page(flow_run_id: str) -> str:
    """The run of a release in Prefect."""
    return f"{prefect_pages()}/runs/flow-run/{flow_run_id}"


def artifact_name(*words: str) -> str:
    """Name of an artifact in Prefect: lower-case letters, digits and dashes; equal names are listed together."""
    return _NOT_IN_NAMES.sub("-", "-".join(words).lower()).strip("-")


def _page_address(server: str) -> str:
    """The address of a server, without a user name and password in it."""
    parts = urlsplit(server)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"


def _page(path: str, **query: str) -> str:
    return f"#/{path}?{urlencode(query, quote_via=quote)}{'&' if query else ''}{TRAINING_PAGES}"
