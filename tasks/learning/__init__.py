"""The step that carries out what a learner or a sampler has planned.

planned_step: reserves its cost, runs it, keeps and records what it makes.
"""
