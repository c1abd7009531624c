"""Steps that draw records: synthesize in blocks, gather; and the marginal baseline.

synthesize, gather, draw_baseline.
"""
