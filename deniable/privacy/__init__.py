"""What mechanisms cost: events, guarantees, and the accountants between them.

loss: events that state what was done, and guarantees that state its cost; common_events: those of counts. loss_laws,
dominating_pair: the law of the privacy loss of an event, and a bound where only that is known. composition, accounting:
what several events cost together, and how noise is calibrated to a budget. step_costs: the cost of a release, step by
step. rounding: epsilon as readers see it, rounded up.
planned: checks the events of a step against its spec.

No noise is drawn here: for that, see `foundation.noise`.
"""
