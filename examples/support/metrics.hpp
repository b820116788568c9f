// What a training run measured, step by step: metrics.csv, which a resumed run continues, and a picture of the losses.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <llm/core/error.hpp>

namespace examples {

struct Measurement {
  std::int64_t step = 0;  // counted from 1
  double lr = 0, loss = 0, grad_norm = 0;
  double tokens_per_second = std::numeric_limits<double>::quiet_NaN();  // where a line was printed
  double validation_loss = std::numeric_limits<double>::quiet_NaN();
};

class Metrics {
 public:
  /// Begins the file anew with the rows of an earlier run up to `steps_done`.
  Metrics(std::string folder, std::int64_t steps_done) : folder_(std::move(folder)) {
    if (steps_done > 0) read(steps_done);
    file_.open(folder_ + "/metrics.csv");
    file_ << "step,lr,loss,grad_norm,tokens_per_second,validation_loss\n";
    for (const Measurement& row : rows_) write(row);
    flush();
  }

  void add(const Measurement& row) {
    rows_.push_back(row);
    write(row);
  }
  void flush() {
    file_.flush();
    if (!file_) throw llm::FileError(folder_ + "/metrics.csv: cannot be written");
  }

  /// Draws loss.svg with gnuplot and returns its path, or "" when there is no gnuplot.
  std::string draw(double unigram_loss) const {
    if (rows_.empty() || std::system("gnuplot --version > /dev/null 2>&1") != 0) return "";
    const std::string picture = folder_ + "/loss.svg", script = folder_ + "/loss.gnuplot";
    std::ofstream out(script);
    out << "set terminal svg size 900,540 font 'sans,14' background rgb 'white'\nset output '" << quoted(picture)
        << "'\nset xlabel 'step'\nset ylabel 'loss, nats per token'\nset grid\nset key top right\n";
    write_block(out, "$training", &Measurement::loss);
    write_block(out, "$validation", &Measurement::validation_loss);
    out << "plot $training with lines lw 1 lc rgb '#8fb8de' title 'training', $validation with linespoints lw 2 pt 7 ps 0.6 "
           "lc rgb '#c0392b' title 'validation', "
        << unigram_loss << " with lines dt 2 lw 2 lc rgb '#555555' title 'unigram model'\n";
    out.close();
    const bool drawn = out && std::system(("gnuplot '" + shell_quoted(script) + "'").c_str()) == 0;
    std::remove(script.c_str());
    return drawn ? picture : "";
  }

 private:
  void read(std::int64_t steps_done) {
    std::ifstream old(folder_ + "/metrics.csv");
    std::string line;
    std::getline(old, line);  // the header
    while (std::getline(old, line)) {
      Measurement row;
      double* const fields[] = {&row.lr, &row.loss, &row.grad_norm, &row.tokens_per_second, &row.validation_loss};
      std::istringstream cells(line);
      std::string cell;
      std::getline(cells, cell, ',');
      row.step = std::strtoll(cell.c_str(), nullptr, 10);
      for (double* const field : fields)
        if (std::getline(cells, cell, ',') && !cell.empty()) *field = std::strtod(cell.c_str(), nullptr);
      if (row.step >= 1 && row.step <= steps_done) rows_.push_back(row);
    }
  }

  void write(const Measurement& row) {
    char text[160];
    std::snprintf(text, sizeof text, "%lld,%.9g,%.9g,%.9g", static_cast<long long>(row.step), row.lr, row.loss, row.grad_norm);
    file_ << text << ',' << optional(row.tokens_per_second) << ',' << optional(row.validation_loss) << '\n';
  }
  static std::string optional(double value) {
    char text[32] = "";
    if (!std::isnan(value)) std::snprintf(text, sizeof text, "%.6g", value);
    return text;
  }

  void write_block(std::ofstream& out, const char* name, double Measurement::*value) const {
    out << name << " << end\n";
    for (const Measurement& row : rows_)
      if (!std::isnan(row.*value)) out << row.step << ' ' << row.*value << '\n';
    out << "end\n";
  }

  static std::string replace_quotes(const std::string& text, const char* by) {
    std::string out;
    for (const char c : text) c == '\'' ? out += by : out += c;
    return out;
  }
  static std::string quoted(const std::string& text) { return replace_quotes(text, "''"); }
  static std::string shell_quoted(const std::string& text) { return replace_quotes(text, "'\\''"); }

  std::string folder_;
  std::vector<Measurement> rows_;
  std::ofstream file_;
};

}  // namespace examples
