"""The workload that Speedproof proves itself on: a latent neural PDE operator trained on PDEBench tasks."""
