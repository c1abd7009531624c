"""Synthetic tables of people with a stated guarantee: a library (`public`), and the mathematics of the release flow.

The public names are those of `__all__`, imported on first use: `library` makes and saves releases of data frames.
The rooms below, in order of dependence: foundation, privacy, local, evaluation, measurements, inference, models,
plausible_deniability, learners, samplers, ledger, discovery, record, verification, catalogues. mechanisms: the contract
of learners and samplers; roles: of their steps. folder_on_disk: a folder that can be read. respondent, data_user,
other_releases, from_measurements, console: the commands; cli: the command `deniable`; command_names: how messages name
it. kernels: how functions are compiled. No orchestrator, tracker, clock or environment belongs here; files only in
library and commands.
"""

from deniable.public import __all__ as __all__
from deniable.public import __dir__ as __dir__
from deniable.public import __getattr__ as __getattr__
