// The CPU backend's layout of stored weights gives back what was put in.
#include <cstring>

#include <llm/backend/cpu/packed.hpp>
#include <llm/backend/cpu/unpacked.hpp>
#include <support/catch.hpp>
#include <support/stored_rows.hpp>

using llm::DType;

TEST_CASE("packed rows decode to what the rows of a file decode to, bit for bit") {
  llm_test::for_each_format([](DType format, std::int64_t unit) {
    for (const std::int64_t N : {1, 15, 16, 37})
      for (const std::int64_t K : {unit, 3 * unit}) {
        INFO(llm::to_string(format) << " N " << N << " K " << K);
        const auto rows = llm_test::random_rows(format, N, K, 1);
        std::vector<std::byte> packed(static_cast<std::size_t>(llm::cpu::packed_bytes(format, N, K)));
        llm::cpu::pack_rows(format, rows.data(), packed.data(), N, K);
        std::vector<float> got(static_cast<std::size_t>(K)), want(got);
        for (std::int64_t n = 0; n < N; ++n) {
          llm::dequantize_row(format, rows.data() + n * llm::storage_bytes(format, K), want.data(), K);
          llm::cpu::load_packed_row(format, packed.data(), n, K, 0, K, got.data());
          REQUIRE(std::memcmp(got.data(), want.data(), got.size() * sizeof(float)) == 0);
          llm::cpu::load_packed_row(format, packed.data(), n, K, K - unit, unit, got.data());
          REQUIRE(std::memcmp(got.data(), want.data() + K - unit, static_cast<std::size_t>(unit) * sizeof(float)) == 0);
        }
      }
  });
}

TEST_CASE("packed rows unpack to the bytes that were packed") {
  llm_test::for_each_format([](DType format, std::int64_t unit) {
    for (const std::int64_t N : {1, 16, 37}) {
      const std::int64_t K = 3 * unit;
      INFO(llm::to_string(format) << " N " << N);
      const auto rows = llm_test::random_rows(format, N, K, 1);
      std::vector<std::byte> packed(static_cast<std::size_t>(llm::cpu::packed_bytes(format, N, K))), back(rows.size(), std::byte{1});
      llm::cpu::pack_rows(format, rows.data(), packed.data(), N, K);
      llm::cpu::unpack_rows(format, packed.data(), 0, N, K, back.data());
      CHECK(back == rows);
      back.assign(static_cast<std::size_t>(llm::storage_bytes(format, K)), std::byte{1});
      llm::cpu::unpack_rows(format, packed.data(), N - 1, 1, K, back.data());
      CHECK(std::memcmp(back.data(), rows.data() + rows.size() - back.size(), back.size()) == 0);
    }
  });
}

TEST_CASE("packed weights take the bytes of the file, but for rows that fill up a panel and 63 bytes a panel") {
  llm_test::for_each_format([](DType format, std::int64_t unit) {
    const std::int64_t K = 5 * unit, row_bytes = llm::storage_bytes(format, K);
    INFO(llm::to_string(format));
    CHECK(llm::cpu::packed_bytes(format, 48, K) - 48 * row_bytes < 3 * 64);
    CHECK(llm::cpu::packed_bytes(format, 33, K) <= 48 * row_bytes + 3 * 64);
    CHECK(llm::cpu::packed_bytes(format, 0, K) == 0);
  });
}
