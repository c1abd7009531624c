"""OpenLineage's words for a release: its runs, its steps, and what they read and made.

The events of a record (openlineage) and those that a release sends while it runs (stores.lineage) are made of the same
words, so that both draw the same graph.

Source: OpenLineage 2-0-2.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, Literal, TypeAlias

from deniable.catalogues.described import PROGRAM

Event: TypeAlias = dict[str, Any]
EventType: TypeAlias = Literal["START", "RUNNING", "COMPLETE", "FAIL", "ABORT"]

_SCHEMA: Final = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
_FACETS: Final = "https://openlineage.io/spec/facets/"
_COST: Final = ("epsilon", "delta", "accountant")
_COST_SCHEMA: Final = "urn:deniable:openlineage:PrivacyCostRunFacet:1"


@dataclass(frozen=True)
class LineageEvents:
    """What all events of a release have in common.

    Attributes:
        dataset: the name of the dataset in the ledger.
        release: the release's name.
        version: the version of the program.
    """

    dataset: str
    release: str
    version: str

    @property
    def namespace(self) -> str:
        """The namespace of jobs and datasets."""
        return f"deniable://{self.dataset}"

    @property
    def producer(self) -> str:
        """The program, as a URN."""
        return f"urn:{PROGRAM.lower()}:program:{self.version}"

    def job(self, step: str | None = None) -> str:
        """The job of a step, all of whose parts are runs of it, or of the release."""
        name = f"release.{self.dataset}"
        return name if step is None else f"{name}.{step.replace(' ', '_')}"

    def event(
        self,
        kind: EventType,
        time: str,
        run: str,
        job: str,
        facets: Mapping[str, Any] | None = None,
        inputs: Sequence[Mapping[str, Any]] = (),
        outputs: Sequence[Mapping[str, Any]] = (),
    ) -> Event:
        """An event of a run.

        Args:
            kind: what happened to the run.
            time: when, in UTC.
            run: UUID of the run.
            job: name of the job.
            facets: facets of the run.
            inputs: the datasets that it reads.
            outputs: the datasets that it made.
        """
        about = {"processingType": "BATCH", "integration": "DENIABLE", "jobType": "RELEASE"}
        return {
            "eventType": kind,
            "eventTime": time,
            "producer": self.producer,
            "schemaURL": _SCHEMA,
            "run": {"runId": run, **({"facets": facets} if facets else {})},
            "job": {
                "namespace": self.namespace,
                "name": job,
                "facets": {"jobType": self.facet("2-0-3/JobTypeJobFacet", about)},
            },
            "inputs": list(inputs),
            "outputs": list(outputs),
        }

    def of_release(self, run: str) -> dict[str, Any]:
        """The facet of a step's run that names the run of the release."""
        parent = {"run": {"runId": run}, "job": {"namespace": self.namespace, "name": self.job()}}
        return {"parent": self.facet("1-1-0/ParentRunFacet", parent)}

    def cost(self, cost: Mapping[str, Any] | None, events: int) -> dict[str, Any]:
        """The facet of what a step spent.

        Args:
            cost: its epsilon, delta and accountant; None if it is not differentially private.
            events: number of its mechanism events.
        """
        return {
            "deniable_privacyCost": {
                "_producer": self.producer,
                "_schemaURL": _COST_SCHEMA,
                **({"guarantee": "none"} if cost is None else {name: cost[name] for name in _COST}),
                "events": events,
            }
        }

    def read_or_made(self, name: str, digest: str) -> dict[str, Any]:
        """What a step read or made; of what is not public, a digest under the release's key."""
        version = self.facet("1-0-1/DatasetVersionDatasetFacet", {"datasetVersion": digest})
        return {"namespace": self.namespace, "name": f"{self.release}/{name}", "facets": {"version": version}}

    def facet(self, schema: str, content: Mapping[str, Any]) -> dict[str, Any]:
        """A facet of the standard.

        Args:
            schema: version and name of its schema, such as `1-1-0/ParentRunFacet`.
            content: its fields.
        """
        version, _, name = schema.partition("/")
        return {"_producer": self.producer, "_schemaURL": f"{_FACETS}{version}/{name}.json", **content}


def run_id(*what: object) -> str:
    """The UUID of a run, of version 8, made of what identifies it."""
    found = sha256("/".join(str(each) for each in what).encode()).hexdigest()
    return f"{found[:8]}-{found[8:12]}-8{found[13:16]}-8{found[17:20]}-{found[20:32]}"


def edges(events: Iterable[Event]) -> set[tuple[str, str]]:
    """The graph that events draw: from each dataset that was read to the job, and from the job to what it made."""
    found: set[tuple[str, str]] = set()
    for event in events:
        job = event["job"]["name"]
        found |= {(item["name"], job) for item in event["inputs"]}
        if event["eventType"] == "COMPLETE":
            found |= {(job, item["name"]) for item in event["outputs"]}
    return found
