"""Document 001 (Park, Ghosh, Shankar 2013): perturbed Gibbs samplers, on the people of document 000.

paper: the document, with its figures and Table 3. choices: attributes, epsilons, records. orders: the paper's orders
of keys, and seeds like real people. mapped: the tables behind Figures 5 to 7 and 9. maps: R-U maps, Figures 5 to 7.
histograms: Figure 4. coefficients: Figure 8. intruders: Figure 9. paths: Table 3. controls: a copy and shuffled values.
pictures: how these are drawn.
"""
