"""Commands that run servers: stack, worker and watch, cluster, ui, deploy, backup and restore."""
