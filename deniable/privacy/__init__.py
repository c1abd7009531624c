"""Privacy accounting: mechanism events, guarantees, and the accountants that compute one from the other.

loss: events that describe mechanisms, and guarantees that state their cost; common_events: those of counts. loss_laws,
dominating_pair: the privacy loss distribution of an event, and a dominating pair if only a bound is known. composition,
accounting: the cost of several events together, and calibration of noise to a budget; remembered: what accountants
have worked out before. step_costs: the cost of a
release, step by step. urn_costs: the cost of draws from exact counts. one_person: one record of each person. rounding:
epsilon as displayed, rounded up. planned: checks the events of a step against its spec.

No noise is drawn here: see `foundation.noise`.
"""
