// Linear layers: trainable and frozen, with and without bias, a frozen one in every storage format.
#include <cmath>
#include <cstring>
#include <vector>

#include <llm/backend/cpu/cpu.hpp>
#include <llm/core/quant.hpp>
#include <llm/core/quant_encode.hpp>
#include <llm/nn/linear.hpp>
#include <support/catch.hpp>
#include <support/exact_activations.hpp>

namespace {

constexpr std::int64_t N = 6, K = 64;

template <class B>
using X = llm::Tensor<float, llm::Shape<llm::dyn, llm::dyn, K>, B>;

std::vector<float> normals(std::int64_t count, std::uint64_t stream) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(llm::normal_at(3, stream, static_cast<std::uint64_t>(i))));
  return values;
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<float>& values) {
  std::vector<std::byte> bytes;
  for (const float value : values) {
    const T stored(value);
    const auto* const p = reinterpret_cast<const std::byte*>(&stored);
    bytes.insert(bytes.end(), p, p + sizeof(T));
  }
  return bytes;
}

std::vector<std::byte> encode(llm::DType format, const std::vector<float>& values) {
  switch (format) {
    case llm::DType::f32:
      return bytes_of<float>(values);
    case llm::DType::bf16:
      return bytes_of<llm::bf16>(values);
    case llm::DType::f16:
      return bytes_of<llm::f16>(values);
    default:
      break;
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(llm::storage_bytes(format, N * K)));
  const auto row_bytes = static_cast<std::size_t>(llm::storage_bytes(format, K));
  for (std::size_t row = 0; row < N; ++row) llm::quantize_row(llm::DType::q8_0, values.data() + row * K, bytes.data() + row * row_bytes, K);
  return bytes;
}

/// The product with the decoded weights, in double.
std::vector<double> expected(llm::DType format, const std::vector<std::byte>& stored, const std::vector<float>& x,
                             const std::vector<float>& bias) {
  std::vector<double> y, row(K);
  const auto row_bytes = static_cast<std::size_t>(llm::storage_bytes(format, K));
  for (std::size_t m = 0; m < x.size() / K; ++m)
    for (std::size_t n = 0; n < N; ++n) {
      llm::dequantize_row(format, stored.data() + n * row_bytes, row.data(), K);
      double sum = bias.empty() ? 0.0 : static_cast<double>(bias[n]);
      for (std::size_t k = 0; k < K; ++k) sum += row[k] * static_cast<double>(x[m * K + k]);
      y.push_back(sum);
    }
  return y;
}

void check(const std::vector<float>& got, const std::vector<double>& want) {
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(static_cast<double>(got[i]) == Approx(want[i]).margin(1e-4));
}

}  // namespace

TEMPLATE_TEST_CASE("A frozen layer in any format is the product with its decoded weights", "", llm::Reference, llm::Cpu) {
  using B = TestType;
  const auto weights = normals(N * K, 0), bias = normals(N, 1);
  const llm_test::ExactActivations exact;
  for (const auto format : {llm::DType::f32, llm::DType::bf16, llm::DType::f16, llm::DType::q8_0})
    for (const std::int64_t time : {1, 3, 40}) {
      INFO(llm::to_string(format) << ", " << time << " rows");
      const auto x = normals(2 * time * K, 2);
      const auto stored = encode(format, weights);
      llm::Linear<K, N, false, llm::Frozen, B> plain{llm::StoredMatrix<N, K, B>::from(format, stored), {}};
      check(plain(X<B>::from(x, {2, time})).to_vector(), expected(format, stored, x, {}));
      llm::Linear<K, N, true, llm::Frozen, B> biased{plain.weight, llm::Tensor<float, llm::Shape<N>, B>::from(bias)};
      check(biased(X<B>::from(x, {2, time})).to_vector(), expected(format, stored, x, bias));
    }
}

TEST_CASE("A frozen layer records nothing") {
  using B = llm::Reference;
  const llm::Linear<K, N, false, llm::Frozen, B> layer{
      llm::StoredMatrix<N, K, B>::from(llm::DType::q8_0, encode(llm::DType::q8_0, normals(N * K, 0))), {}};
  const llm::Tape tape;
  layer(X<B>::from(normals(K, 1), {1, 1}));
  CHECK(tape.size() == 0);
}

TEST_CASE("A stored matrix refuses bytes of another number, and rows that are no whole number of blocks") {
  using B = llm::Reference;
  const std::vector<std::byte> bytes(static_cast<std::size_t>(llm::storage_bytes(llm::DType::q8_0, N * K)));
  CHECK_THROWS_WITH((llm::StoredMatrix<N, K, B>::from(llm::DType::f32, bytes)),
                    Catch::Contains("408 bytes") && Catch::Contains("which takes 1536"));
  CHECK_THROWS_AS((llm::StoredMatrix<N, 33, B>::from(llm::DType::q8_0, bytes)), llm::ShapeError);
}

TEST_CASE("A trainable layer lists its parameters") {
  llm::Linear<K, N, true> layer;
  std::vector<std::string> names;
  layer.visit([&](const auto& tensor, llm::ParameterKind, const char* name) {
    names.push_back(std::string(name) + llm::to_string(tensor.shape()));
  });
  CHECK(names == std::vector<std::string>{"weight[6, 64]", "bias[6]"});
}
