"""A release in the words of other systems: catalogues, archives, lineage servers, statistical offices.

Each format is a function of what a published folder says about itself (described): its signed record, its statement and
the description of its table. Nothing is measured, and nothing is computed from records. Making releases, signing and
checking do not belong here.

described: the facts. registry: the formats. schema_org, croissant, dcat, ro_crate, prov, openlineage, ddi, slsa,
cyclonedx, deployments: one each.
lineage_events: the words of OpenLineage, for events of a record and for those of a release that runs.
"""
