// The kernels' test as nvcc compiles it, for a GPU.
#include "rms_norm_test.cpp"
