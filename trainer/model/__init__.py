"""The latent PDE operator: pure modules, the same in every variant."""
