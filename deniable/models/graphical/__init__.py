"""Graphical models: a joint distribution as tables on the cliques of a junction tree, fitted to noisy marginals.

junction_tree: the cliques and their tree. belief_propagation: from potentials to the marginals of all cliques.
graphical_model: the model and its marginals. fitting: fits a model to noisy tables. clique_tables: the model in
integers. junction_tree_net: the same, for sampling and scoring. elementary: exponentials and logarithms with the same
digits on every processor.

The choice of tables belongs in `learners`. Source: McKenna, Sheldon, Miklau 2019 (Private-PGM).
"""
