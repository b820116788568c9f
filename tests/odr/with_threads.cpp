// A file of the program that is compiled with OpenMP.
#include "all_headers.hpp"
#include "parts.hpp"

Square product_with_threads(const Square& x, const Square& w) { return llm::linear(x, w); }
