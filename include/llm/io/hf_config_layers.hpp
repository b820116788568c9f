// Which layers of a published model have a sliding window, and which have experts, as llm::Config says it: by a period.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <llm/core/error.hpp>
#include <llm/io/hf_config_fields.hpp>
#include <llm/io/hf_config_traits.hpp>
#include <llm/io/published_config.hpp>

namespace llm::detail::hf {

/// layer_types: whether each layer has a window; none when the file does not list them.
inline std::optional<std::vector<bool>> read_layer_types(Fields& fields, std::int64_t n_layers) {
  constexpr std::string_view key = "layer_types";
  if (!fields.has(key)) return {};
  const Fields::Json& list = fields.array(key);
  if (list.size() != static_cast<std::size_t>(n_layers))
    fields.fail(concat("layer_types has ", list.size(), " entries, expected ", n_layers, ", one for each layer"));
  std::vector<bool> windowed;
  for (const Fields::Json& type : list) {
    if (type != "full_attention" && type != "sliding_attention")
      fields.fail(concat("layer_types has ", Fields::shown(type), ", expected 'full_attention' or 'sliding_attention'"));
    windowed.push_back(type == "sliding_attention");
  }
  return windowed;
}

/// The first layer, from `from` on, for which `holds(i)`; n_layers when there is none.
template <class Predicate>
std::int64_t first_layer(std::int64_t n_layers, std::int64_t from, const Predicate& holds) {
  while (from < n_layers && !holds(from)) ++from;
  return from < n_layers ? from : n_layers;
}

/// Sets sliding_window and full_attention_every so that exactly the layers with `windowed(i)` have the window.
template <class Windowed>
void fit_window(const Fields& fields, std::int64_t window, const Windowed& windowed, Config& c) {
  const std::int64_t n = c.n_layers;
  if (first_layer(n, 0, windowed) == n) return;
  if (window == 0) fields.fail("layers have sliding attention, but sliding_window gives no width");
  const std::int64_t full = first_layer(n, 0, [&](std::int64_t i) { return !windowed(i); });
  c.sliding_window = window;
  c.full_attention_every = full == n ? 0 : full + 1;
  const std::int64_t wrong = first_layer(n, 0, [&](std::int64_t i) { return windowed(i) != c.windowed_layer(i); });
  if (wrong != n)
    fields.fail(concat("layers with and without a sliding window do not alternate by a period, which llm::Config needs: after layer ", full,
                       ", the first without, layer ", wrong, " breaks it (counted from 0)"));
}

/// Which layers have a window when layer_types does not say it.
class FamilyWindows {
 public:
  FamilyWindows(Fields& fields, const Traits& traits) : style_(traits.windows) {
    if (style_ == Windows::none) return;
    const bool asks = style_ == Windows::last || style_ == Windows::all_asked, off = asks && !fields.flag("use_sliding_window", false);
    const std::int64_t least = off ? 0 : 1;  // Qwen2-MoE's class writes 0 where it has none
    window_ = fields.find("sliding_window") == nullptr ? traits.window : fields.count_or_null("sliding_window", 0, least);
    if (off) window_ = 0;
    if (style_ == Windows::last) first_ = fields.count_or("max_window_layers", 28, 0);
    if (style_ == Windows::all_asked && window_ != 0 && fields.count_or_null("max_window_layers", 0, 0) != 0)
      fields.refuse("max_window_layers", "0, since this family has the window in all layers or none");
    if (style_ == Windows::pattern) period_ = fields.count_or(fields.spelling({"sliding_window_pattern", "_sliding_window_pattern"}), 6);
  }

  /// Gemma 2 has no field for it.
  void set_period(std::int64_t period) { period_ = period; }
  std::int64_t width() const { return window_; }
  bool operator()(std::int64_t i) const {
    if (style_ == Windows::pattern) return (i + 1) % period_ != 0;
    return window_ != 0 && (style_ != Windows::last || i >= first_);
  }

 private:
  Windows style_;
  std::int64_t window_ = 0, first_ = 0, period_ = 1;
};

/// Sets the fields of a Config about windows; n_layers must be set.
inline void read_windows(Fields& fields, Family family, Config& c) {
  const Traits& traits = traits_of(family);
  FamilyWindows by_family(fields, traits);
  if (family == Family::gemma2) by_family.set_period(2);
  const auto types = read_layer_types(fields, c.n_layers);
  const auto listed = [&](std::int64_t i) { return (*types)[static_cast<std::size_t>(i)]; };
  if (types && traits.has_layer_types) return fit_window(fields, by_family.width(), listed, c);
  if (types && first_layer(c.n_layers, 0, [&](std::int64_t i) { return listed(i) != by_family(i); }) != c.n_layers)
    fields.fail("layer_types contradicts the family's other fields about sliding windows");
  fit_window(fields, by_family.width(), by_family, c);
}

/// Sets first_dense and every so that exactly the layers with `sparse(i)` have experts; without such a layer there are no experts.
template <class Sparse>
void fit_expert_layers(const Fields& fields, const Sparse& sparse, Config& c) {
  const std::int64_t n = c.n_layers;
  const std::int64_t first = first_layer(n, 0, sparse), second = first_layer(n, first + 1, sparse);
  if (first == n) {
    c.experts = {};
    return;
  }
  // A single layer with experts is the last of so many: a period that reaches beyond the end.
  c.experts.every = second < n ? second - first : first == n - 1 ? 1 : first + 1;
  c.experts.first_dense = first + 1 - c.experts.every;
  const bool fits = c.experts.first_dense >= 0;
  const std::int64_t wrong = !fits ? first : first_layer(n, 0, [&](std::int64_t i) { return sparse(i) != c.expert_layer(i); });
  if (wrong != n)
    fields.fail(concat("layers with and without experts do not alternate by a period, which llm::Config needs: layer ", wrong,
                       " breaks it (counted from 0)"));
}

}  // namespace llm::detail::hf
