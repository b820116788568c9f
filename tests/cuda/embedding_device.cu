// The kernels' test as nvcc compiles it, for a GPU.
#include "embedding_test.cpp"
