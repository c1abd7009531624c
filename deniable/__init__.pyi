from deniable.foundation.errors import DeniableError as DeniableError
from deniable.foundation.errors import InvalidInput as InvalidInput
from deniable.foundation.errors import Refused as Refused
from deniable.library.opened import OpenedRelease as OpenedRelease
from deniable.library.opened import Questions as Questions
from deniable.library.opened import open_release as open_release
from deniable.library.opened import verify as verify
from deniable.library.records import Records as Records
from deniable.library.release import Release as Release
from deniable.library.schema import Nominal as Nominal
from deniable.library.schema import Numeric as Numeric
from deniable.library.schema import Ordered as Ordered
from deniable.library.schema import Schema as Schema
from deniable.library.synthesizer import AlreadySpent as AlreadySpent
from deniable.library.synthesizer import Plan as Plan
from deniable.library.synthesizer import Synthesizer as Synthesizer

__all__ = [
    "AlreadySpent",
    "DeniableError",
    "InvalidInput",
    "Nominal",
    "Numeric",
    "OpenedRelease",
    "Ordered",
    "Plan",
    "Questions",
    "Records",
    "Refused",
    "Release",
    "Schema",
    "Synthesizer",
    "open_release",
    "verify",
]
