// The op's test as nvcc compiles it, for a GPU.
#include "op_test.cpp"
