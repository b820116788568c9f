// What a quantised file holds, by format: sizes, bits per weight, and how far it is from its source.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>

#include <llm/core/dtype.hpp>
#include <llm/io/gguf_model_writer.hpp>

#include "progress.hpp"
#include "terminal.hpp"
#include "units.hpp"

namespace examples {

/// Collects the tensors that have been written; shows the last one on a terminal.
class QuantizeReport {
 public:
  void add(const llm::WrittenTensor& tensor) {
    Sum& sum = sums_[tensor.to];
    for (Sum* part : {&sum, &total_}) {
      ++part->tensors;
      part->elements += tensor.elements;
      part->bytes += tensor.bytes;
      part->squared_error += tensor.squared_error;
      part->squared_sum += tensor.squared_sum;
    }
    if (!is_terminal(stdout)) return;
    std::printf("\r\033[K%lld  %s  %s -> %s", static_cast<long long>(total_.tensors), std::string(tensor.name).c_str(),
                std::string(to_string(tensor.from)).c_str(), std::string(to_string(tensor.to)).c_str());
    std::fflush(stdout);
  }

  void print() const {
    if (is_terminal(stdout)) std::printf("\r\033[K");
    std::printf("%-8s %8s %16s %12s %6s %10s\n", "format", "tensors", "weights", "size", "bits", "error");
    for (const auto& [format, sum] : sums_) print_line(std::string(to_string(format)).c_str(), sum);
    print_line("total", total_);
    std::printf("error: root mean square of what encoding changed, over that of the weights\n%.1f s\n", stopwatch_.seconds());
  }

 private:
  struct Sum {
    std::int64_t tensors = 0, elements = 0, bytes = 0;
    double squared_error = 0, squared_sum = 0;
  };

  static void print_line(const char* name, const Sum& sum) {
    const double bits = sum.elements == 0 ? 0 : 8.0 * static_cast<double>(sum.bytes) / static_cast<double>(sum.elements);
    const double error = sum.squared_sum > 0 ? std::sqrt(sum.squared_error / sum.squared_sum) : 0;
    std::printf("%-8s %8lld %16lld %12s %6.2f %10.6f\n", name, static_cast<long long>(sum.tensors), static_cast<long long>(sum.elements),
                bytes_text(sum.bytes).c_str(), bits, error);
  }

  Stopwatch stopwatch_;
  std::map<llm::DType, Sum> sums_;
  Sum total_;
};

}  // namespace examples
