"""Logic that nobody declared: what all real records satisfy, though chance alone would not let them.

patterns: what a pattern is, and the line of a schema that states it. finding: patterns of tables of two attributes, and
sums of numbers. How many released records break them is the metric `undeclared_logic`. Rules that a schema declares do
not belong here (deniable.foundation.rules), and nothing that is found here is ever declared by the program: a rule
that is known only from confidential records would publish them.
"""
