// The kernels' test as nvcc compiles it, for a GPU.
#include "elementwise_test.cpp"
