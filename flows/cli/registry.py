"""The commands of the project's checkout. A new command is a module and a line.

Those that the wheel has too are in `deniable/cli/registry.py`, with the groups.
"""

from typing import Final

from deniable.cli.contract import Line

_RUNNER: Final = "flows.cli.running"

LINES: Final = tuple(
    Line(name, what, f"flows.cli.{name.replace(' ', '.').replace('-', '_')}", _RUNNER)
    for name, what in {
        "release make": "run the release that a spec describes, or resume it",
        "release plan": "what a release would cost, and whether the budget allows it",
        "release rehearse": "try epsilons on public records, at no cost",
        "release new": "begin with a table of your own: questions, then a release",
        "release again": "write a spec that uses the paid model of a release again",
        "release refresh": "release the new data of a dataset, unless released already",
        "release unfinished": "list what a command would resume, and how far each is",
        "release discard": "give up an unfinished release",
        "release held": "list releases that await a decision, and what to review",
        "release approve": "let a held release be published",
        "release refuse": "never let a held release be published",
        "release design": "show how a total is shared by model and seeds",
        "release publication": "show what a release says about its owner and its terms",
        "release find": "find published releases and discoveries",
        "release runs": "list the runs in Prefect, their outcome, and what to do next",
        "release status": "list public releases, and which of them still hold",
        "release withdraw": "state that a public release is withdrawn, or replaced",
        "release compare": "show what changed from one release to another",
        "table draft": "write a schema and a spec from a public codebook",
        "table check": "count what does not fit a schema; nothing is published",
        "table discover": "propose values and ranges privately, at a cost",
        "table import-sgf": "a schema and a spec from files of SGF, the paper's tool",
        "budget set": "set the privacy budget of a dataset from now on",
        "budget spent": "what each release has spent, and what is left",
        "budget show": "show every charge, step by step, and what is left",
        "budget export": "write all entries to a file, to be verified anywhere",
        "budget checkpoint": "write what a witness cosigns, against hidden restores",
        "budget verify": "verify the ledger in place",
        "budget prepare": "make or update the ledger's tables in PostgreSQL",
        "budget recover": "rebuild a ledger that was lost, or accept it as it is",
        "audit release": "check that all that is kept of a release is unchanged",
        "audit events": "show when each step began and ended, or send that on",
        "audit replay": "run a release again, and compare every step bit for bit",
        "data survey": "publish randomized responses of a survey, with estimates",
        "keys new": "make the first key that signs releases",
        "keys rotate": "replace the signing key by a new one",
        "keys show": "show the keys that are trusted, or were",
        "keys revoke": "revoke a key",
        "keys export": "write the trust file that auditors need",
        "keys approver": "manage the keys of those who approve releases",
        "keys custodian": "manage the key that sets budgets and admits approvers",
        "servers ui": "show the pages of MLflow and Prefect on this machine",
        "servers stack": "run PostgreSQL, Prefect, MLflow with users, and a worker",
        "servers worker": "run the flows of deployments until stopped",
        "servers watch": "restart servers that go down, and resume runs",
        "servers prefect": "run one of Prefect's own commands",
        "servers deploy": "register deployments and schedules with Prefect",
        "servers cluster": "share the work of a release among processes",
        "servers backup": "copy the state folder and its databases",
        "servers restore": "restore a copy into an empty state folder",
        "mechanisms select": "print the tables that follow from a spec's public file",
        "mechanisms map": "map risk and utility of a table by several methods",
    }.items()
)
