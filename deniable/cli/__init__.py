"""The command `deniable`: groups of commands, a module each.

contract: what the module of a command declares. registry: groups and commands, a line each. dispatch: finds the
command that was typed, or the nearest. pages: the pages of help. former_names: what commands were called before.
offline: carries out commands that need neither a service nor a network; files: what they read and write.
audit, data, mechanisms: the groups, as far as the wheel has them.

A command's module is imported only when the command is used.
"""
