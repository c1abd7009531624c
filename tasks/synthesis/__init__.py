"""Steps that draw records: synthesize in blocks, gather, and draw the marginal baseline.

synthesize, gather, draw_baseline.
"""
