// Files of llama2.c: made from golden directories of transformers, so that what they must compute is known.
#include <llm/io/llama2c.hpp>

#include <cstring>

#include <llm/io/load.hpp>

#include <llm/model.hpp>
#include <support/generation.hpp>
#include <support/golden_directory.hpp>
#include <support/temporary_folder.hpp>

using namespace llm_test;
using Catch::Contains;

namespace {

std::string le32(std::int64_t value) {
  std::string out;
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(static_cast<std::uint64_t>(value) >> shift & 0xff);
  return out;
}

/// A golden directory's tensors in the order of export.py: one name after the other, each for all layers.
class Export {
 public:
  explicit Export(const std::string& directory) : files_(llm::CheckpointFiles::open(golden_path(directory))) {}

  const llm::Config& config() const { return files_.model()->config; }

  std::string version_0() const {
    const llm::Config& c = config();
    std::string out = numbers(c.tie_embeddings ? c.vocab_size : -c.vocab_size) + one("model.embed_tokens");
    out += layers("input_layernorm") + attention() + layers("post_attention_layernorm") + mlp() + one("model.norm");
    out.append(static_cast<std::size_t>(4 * c.max_seq_len * c.head_width()), '\x7f');  // nobody reads the tables of rotation
    return c.tie_embeddings ? out : out + one("lm_head");
  }
  std::string version_1() const {
    const llm::Config& c = config();
    std::string out = "24ka" + le32(1) + numbers(c.vocab_size) + (c.tie_embeddings ? '\1' : '\0');
    out.resize(256);
    out += layers("input_layernorm") + layers("post_attention_layernorm") + one("model.norm") + one("model.embed_tokens");
    out += attention() + mlp();
    return c.tie_embeddings ? out : out + one("lm_head");
  }

 private:
  std::string numbers(std::int64_t vocabulary) const {
    const llm::Config& c = config();
    return le32(c.d_model) + le32(c.ffn_dim) + le32(c.n_layers) + le32(c.n_heads) + le32(c.n_kv_heads) + le32(vocabulary) +
           le32(c.max_seq_len);
  }
  std::string attention() const {
    return layers("self_attn.q_proj", true) + layers("self_attn.k_proj", true) + layers("self_attn.v_proj") + layers("self_attn.o_proj");
  }
  std::string mlp() const { return layers("mlp.gate_proj") + layers("mlp.down_proj") + layers("mlp.up_proj"); }
  std::string layers(const std::string& name, bool rotated = false) const {
    std::string out;
    for (std::int64_t i = 0; i < config().n_layers; ++i) {
      const std::string matrix = one("model.layers." + std::to_string(i) + "." + name);
      out += rotated ? neighbours(matrix) : matrix;
    }
    return out;
  }
  std::string one(const std::string& name) const {
    for (const llm::FoundTensor& t : files_.tensors())
      if (t.name == name + ".weight") return {reinterpret_cast<const char*>(t.bytes.data()), t.bytes.size()};
    FAIL("no " << name);
    return {};
  }
  /// Rows i and i + half of a head, which transformers rotates together, become rows 2i and 2i + 1.
  std::string neighbours(const std::string& matrix) const {
    const auto row = static_cast<std::size_t>(4 * config().d_model), width = static_cast<std::size_t>(config().head_width());
    std::string out;
    for (std::size_t head = 0; head < matrix.size(); head += row * width)
      for (std::size_t i = 0; i < width; ++i) out += matrix.substr(head + row * (i / 2 + i % 2 * (width / 2)), row);
    return out;
  }

  llm::CheckpointFiles files_;
};

std::string changed(std::string file, std::size_t number, std::int64_t value) { return file.replace(4 * number, 4, le32(value)); }

/// The error of opening a file of these bytes.
std::string refusal(const std::string& content) {
  TemporaryFolder folder;
  write_file(folder / "model.bin", content);
  const std::string message = message_of([&] { llm::CheckpointFiles::open(folder / "model.bin"); });
  CHECK_THAT(message, Contains("model.bin"));
  return message;
}

constexpr llm::Config interleaved = [] {
  llm::Config c = hf_llama;
  c.position = llm::Position::rope_interleaved;
  return c;
}();

}  // namespace

TEST_CASE("a file of llama2.c of either version computes what the directory does, tied or not, in either convention of RoPE [l2bin]") {
  TemporaryFolder folder;
  const Export untied("hf/llama"), tied("hf/llama_tied");
  write_file(folder / "v0.bin", untied.version_0());
  write_file(folder / "v1.bin", untied.version_1());
  write_file(folder / "tied0.bin", tied.version_0());
  write_file(folder / "tied1.bin", tied.version_1());
  CHECK(llm::loads_as(interleaved, llm::CheckpointFiles::open(folder / "v0.bin").model()->config));
  CHECK(llm::CheckpointFiles::open(folder / "tied1.bin").model()->config.tie_embeddings);
  for (const std::string file : {"v0.bin", "v1.bin"}) {
    CAPTURE(file);
    check_directory(llm::load<hf_llama>(folder / file), "hf/llama");
    check_directory(llm::load<interleaved>(folder / file), "hf/llama");
    check_directory(llm::load_trainable<hf_llama>(folder / file), "hf/llama");
  }
  for (const std::string file : {"tied0.bin", "tied1.bin"}) {
    CAPTURE(file);
    check_directory(llm::load<hf_llama_tied>(folder / file), "hf/llama_tied");
    CHECK_THROWS_AS(llm::load<hf_llama>(folder / file), llm::ConfigError);
  }
}

TEST_CASE("a file of llama2.c is refused when its size is not what its header says, and each field is checked [l2bin]") {
  const std::string v0 = Export("hf/llama").version_0(), v1 = Export("hf/llama").version_1();
  for (const std::string& whole : {v0, v1}) {
    for (std::size_t part = 0; part < 16; ++part) CHECK_THAT(refusal(whole.substr(0, whole.size() * part / 16)), Contains("bytes"));
    CHECK_THAT(refusal(whole + '\0'), Contains("elements of 4 behind a header of"));
    const std::size_t first = whole == v1 ? 2 : 0;
    for (std::size_t field = first; field < first + 7; ++field)
      for (const std::int64_t value : {0, 1, 7, 1 << 16, 0x7fffffff, -1, -0x7fffffff - 1}) {
        if (field == 8 && value > 0) continue;  // version 1 holds nothing of max_seq_len's size
        CAPTURE(field, value);
        CHECK_FALSE(refusal(changed(whole, field, value)).empty());
      }
  }
  CHECK_THAT(refusal(changed(v0, 4, 0)), Contains("0 heads of keys and values"));
  CHECK_THAT(refusal(changed(v0, 5, 128)), Contains("was cut short, or is no file of llama2.c"));  // the head would be tied
  CHECK_THAT(refusal(changed(v1, 1, 2)), Contains("version 2; 0 and 1 are read"));
  CHECK_THAT(refusal("PK\3\4" + v0.substr(4)), Contains("zip archive") && Contains("convert it to safetensors"));
}
