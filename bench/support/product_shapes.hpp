// The products that training spends its time in: those of a 502M model on 512 tokens and of a d = 128 model on 1024.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bench {

/// y[M,N] = x[M,K] w[N,K]^T, and its gradients dx[M,K] = dy w and dw[N,K] = dy^T x.
struct ProductShape {
  std::int64_t M, K, N;

  double flops() const { return 2.0 * static_cast<double>(M) * static_cast<double>(K) * static_cast<double>(N); }
};

inline constexpr ProductShape product_shapes[] = {{512, 1536, 4096}, {512, 4096, 1536}, {512, 1536, 1536}, {512, 1536, 32000},
                                                  {1024, 128, 352},  {1024, 128, 128},  {1024, 128, 65}};

/// "product/f32/512x1536x4096/forward": the name that every side uses.
inline std::string product_name(std::string_view type, const ProductShape& s, std::string_view which) {
  return "product/" + std::string(type) + "/" + std::to_string(s.M) + "x" + std::to_string(s.K) + "x" + std::to_string(s.N) + "/" +
         std::string(which);
}

}  // namespace bench
