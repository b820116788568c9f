// The kernels' test as nvcc compiles it, for a GPU.
#include "layer_norm_test.cpp"
