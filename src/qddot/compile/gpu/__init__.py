"""Programs on NVIDIA GPUs, by the driver alone: the graph becomes LLVM IR, then PTX, launched on other libraries' memory."""
