"""Privacy accounting: mechanism events, guarantees, and the accountants that compute one from the other.

loss: events that describe mechanisms, and guarantees that state their cost; common_events: events of counts.
loss_laws, dominating_pair: the privacy loss distribution of an event, and a dominating pair if only a bound is known;
poisson_pairs: the curves of two Poisson numbers.
composition, accounting: the total cost of several events, and calibration of noise to a budget; remembered: cached
results of accountants. step_costs: the cost of a release, step by step. urn_costs: the cost of draws from exact
counts. one_person: at most r records per person; group_privacy: from the cost for one record to that for a person.
neighbours: which tables are neighbouring, and all that is stated about it. rounding: epsilon as charged and as
displayed, rounded up. planned: checks the events of a step against its spec.

No noise is drawn here: see `foundation.noise`.
"""
