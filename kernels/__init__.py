"""The flagship kernels, written in Prism; imported as `prism.kernels`, whose folder this is."""

if __name__ != "prism.kernels":
    raise ImportError(f"the folder `kernels` is imported as `prism.kernels`, not as `{__name__}`: it would be there twice")
