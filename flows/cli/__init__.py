"""The commands of the project's checkout, a module each, in the groups of `deniable --help`.

registry: a line for each. contract: what its module declares. running: carries it out on a state folder.
release, table, budget, audit, data, keys, servers, mechanisms: the groups.
making: runs a release with its progress. planning: shows what one would cost. deciding: decisions on held releases.
own_server: a command's own Prefect server. spinner: shows that it is working. subcommands: a type of argparse.
"""
