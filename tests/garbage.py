"""Python collects garbage rarely in processes of pytest, as in the project's own; imported before what is large.

Collecting the tests takes a process a third less, for most of what it imports stays.
"""

from infra.garbage import collect_rarely

collect_rarely()
