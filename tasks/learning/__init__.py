"""The step that carries out the plan of a learner or a sampler.

planned_step: reserves the cost, runs the step, keeps and records its products.
"""
