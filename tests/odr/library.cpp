// A shared library with hidden symbols that records on its caller's tape.
#include "parts.hpp"

#include "all_headers.hpp"

Square sum_in_library(const Square& a, const Square& b) { return llm::add(a, b); }

const llm::Tape* tape_in_library() { return llm::Tape::current(); }

void throw_in_library() { throw llm::ShapeError("thrown in the library"); }
