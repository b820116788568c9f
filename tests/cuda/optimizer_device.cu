// The kernels' test as nvcc compiles it, for a GPU.
#include "optimizer_test.cpp"
