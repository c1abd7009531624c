"""The audit of every mechanism by what goes through its doors; an author of a mechanism adds nothing for it.

doors: noise, choices and streams, recorded or forced. subjects: what is audited, each as a function of a table.
tables: unlike tables, and tables that differ by one record. audit: the questions that are put to every subject.
others: discovery and surveys. whole: the audit by name. fits: fits that are asked for again. twins: small faults, each
of which the audit must find; code: how a fault is put into loaded modules.
"""
