// A stored matrix from numbers in place of its format's bytes.
// expect: llm::StoredMatrix::from\(format, bytes\): the second argument is the rows. bytes in that format \(hint:
// expect: vector<float
#include <vector>

#include <llm/backend/reference/reference.hpp>
#include <llm/tensor/stored_matrix.hpp>

using Matrix = llm::StoredMatrix<16, 32, llm::Reference>;

#ifdef LLM_MUST_FAIL
Matrix f(const std::vector<float>& values) { return Matrix::from(llm::DType::f32, values); }
#else
Matrix f(const std::vector<float>& values) { return Matrix::from(llm::DType::f32, std::as_bytes(std::span(values))); }
#endif
