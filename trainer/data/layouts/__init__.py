"""PDEBench's HDF5 layouts: one file each, detected by the keys found."""
