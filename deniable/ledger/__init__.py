"""The privacy ledger: a chain of entries that state the queries of each dataset and their cost.

entries: the entries. signatures: those that the custodian alone may enter. state: the state that follows from them.
standings: public releases, and which of them were superseded or withdrawn. budget: the total cost of charges, against
a cap. checkpoint, merkle, witness: what shows elsewhere that a ledger was put back. verification: independent
verification. drawing_versions: versions of the code that draws.

The storage of a ledger belongs in `stores.ledger`.
"""
