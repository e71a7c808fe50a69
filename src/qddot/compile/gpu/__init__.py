"""Programs on NVIDIA GPUs, with nothing but the driver: the same graph as LLVM IR, as PTX, launched on the memory of others."""
