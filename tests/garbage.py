"""Makes Python collect garbage rarely in pytest's processes, as in the project's own; imported before large modules.

Collecting the tests takes a third less time, because most imported objects are permanent.
"""

from infra.garbage import collect_rarely

collect_rarely()
