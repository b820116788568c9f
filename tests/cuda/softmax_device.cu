// The kernels' test as nvcc compiles it, for a GPU.
#include "softmax_test.cpp"
