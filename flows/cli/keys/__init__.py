"""Commands about keys; `deniable keys --help`.

new, rotate, show, revoke, export: keys that sign releases. approver: of those who approve them. custodian: of budgets.
hand_out: what to do with a new trust file.
"""
