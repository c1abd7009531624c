"""The flows, one screen each: release, refresh, audit, replay; what opens a release, and their deployments.

release_session: opens a release and closes it. released, summary: what came of it. entrypoints: flows of the
deployments.
specs: where release specs lie.
progress, interruption: a command while it runs. preloaded: what a worker of a cluster imports. prefect_runs: what
becomes of runs in Prefect. cli: the commands.
"""

from infra.garbage import collect_rarely

# Whatever begins with a flow, a command or a run of a deployment, imports hundreds of modules next.
collect_rarely()
