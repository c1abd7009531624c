"""The flows release, refresh, audit, replay, discovery and survey, their deployments, and the command line.

release_session: opens a release and closes it. released, summary: its results. entrypoints: flows of the deployments.
specs: finds release specs.
rehearsing: releases of public records, before epsilon is spent.
progress, interruption: a command while it runs. preloaded: what a worker of a cluster imports. prefect_runs: runs in
Prefect, their ends and their pages. cli: the commands.
"""

from infra.garbage import collect_rarely

# A flow, a command or a run of a deployment imports hundreds of modules next.
collect_rarely()
