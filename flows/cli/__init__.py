"""The commands of `python -m flows`, a module each.

`servers`: starting and stopping servers. `tables`: describing a table. `public`: reading public files. `surveys`:
surveys. `people`: keys of approvers and of the custodian.
"""
