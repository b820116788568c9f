// Checkpoints: exact resuming, refusal of what does not fit, and nothing changed by a refusal.
#include <llm/train/checkpoint.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <support/catch.hpp>
#include <support/same_bits.hpp>
#include <support/temporary_folder.hpp>
#include <support/training.hpp>

using llm_test::all_moments;
using llm_test::all_weights;
using llm_test::same_bits;
using llm_test::TemporaryFolder;
using llm_test::tiny;
using llm_test::Training;

using Tiny = llm::LLM<tiny>;

TEMPLATE_TEST_CASE("10 + 10 steps are 20 steps, bit for bit [resume]", "", float, double, llm::bf16) {
  using Model = llm::LLM<tiny, llm::Trainable<TestType>>;
  const TemporaryFolder folder;
  Training<Model> whole;
  whole.train(20);

  Training<Model> first;
  first.train(10);
  llm::save_checkpoint(folder / "run", first.model, first.optimizer, first.batches.state());
  Training<Model> second(77);  // other weights, which the checkpoint must replace
  const llm::CheckpointInfo info = llm::load_checkpoint(folder / "run", second.model, second.optimizer);
  CHECK(info.optimizer_steps == 10);
  CHECK(info.data == llm::RandomWindows::State{2, 10});
  second.batches.restore(info.data);
  second.losses = first.losses;
  second.norms = first.norms;
  second.train(20);

  CHECK(same_bits(second.losses, whole.losses));
  CHECK(same_bits(second.norms, whole.norms));
  CHECK(same_bits(all_weights(second.model), all_weights(whole.model)));
  CHECK(same_bits(all_moments(second.optimizer), all_moments(whole.optimizer)));
  CHECK_FALSE(same_bits(all_weights(first.model), all_weights(whole.model)));
}

TEST_CASE("a checkpoint can be read by any reader of safetensors") {
  const TemporaryFolder folder;
  Training<llm::LLM<tiny, llm::Trainable<llm::bf16>>> run;
  run.train(2);
  llm::save_checkpoint(folder.path(), run.model, run.optimizer, run.batches.state(), {"ab\n\u4e2d", {{"data", "/a/file"}}});
  const auto file = llm::SafetensorsFile::open(folder / "checkpoint.safetensors");
  std::size_t parameters = 0;
  run.model.for_each_parameter([&](auto& p) {
    ++parameters;
    const auto& weight = file.at(p.name());
    CHECK(weight.dtype == llm::DType::bf16);
    CHECK(weight.shape == std::vector<std::int64_t>(p.shape().begin(), p.shape().end()));
    CHECK(same_bits(llm::copy_values<llm::bf16>(weight), p.tensor().to_vector()));
    for (const char* kept : {"optimizer.m.", "optimizer.v.", "optimizer.master."}) CHECK(file.at(kept + p.name()).dtype == llm::DType::f32);
  });
  CHECK(file.tensors().size() == 4 * parameters);  // no tables of positions, nothing else
  CHECK(file.find("model.layers.1.self_attn.q_proj.weight") != nullptr);

  const llm::CheckpointInfo info = llm::read_checkpoint_info(folder.path());
  CHECK(info.config == tiny);
  CHECK(info.notes.tokenizer == "ab\n\u4e2d");
  CHECK(info.notes.words == std::map<std::string, std::string>{{"data", "/a/file"}});
  CHECK(info.optimizer.weight_decay == 0.1);
  CHECK(info.library_version == llm::detail::concat(LLM_VERSION_MAJOR, ".", LLM_VERSION_MINOR, ".", LLM_VERSION_PATCH));
}

TEST_CASE("a model in f32 takes the master weights of a checkpoint in bf16, and nothing else does") {
  using Half = llm::LLM<tiny, llm::Trainable<llm::bf16>>;
  const TemporaryFolder folder;
  Training<Half> run;
  run.train(3);
  llm::save_checkpoint(folder.path(), run.model, run.optimizer, run.batches.state());
  std::vector<float> masters;
  for (const auto& state : run.optimizer.states())
    for (const float value : state.master.to_vector()) masters.push_back(value);

  auto model = Tiny::random(77);
  llm::load_weights(folder.path(), model);
  CHECK(same_bits(all_weights(model), masters));
  auto half = Half::random(77);
  llm::load_weights(folder.path(), half);
  CHECK(same_bits(all_weights(half), all_weights(run.model)));

  llm::AdamW optimizer(model);  // going on in f32 would need moments without masters
  CHECK_THROWS_WITH(llm::load_checkpoint(folder.path(), model, optimizer), Catch::Contains("holds bf16, the model has f32"));
  using Double = llm::LLM<tiny, llm::Trainable<double>>;
  auto wide = Double::random(77);
  CHECK_THROWS_WITH(llm::load_weights(folder.path(), wide), Catch::Contains("holds bf16, the model has f64"));
  Training<Tiny> full;
  full.train(1);
  llm::save_checkpoint(folder.path(), full.model, full.optimizer, full.batches.state());
  CHECK_THROWS_WITH(llm::load_weights(folder.path(), half), Catch::Contains("holds f32, the model has bf16"));
}

namespace {
constexpr llm::Config wider = [] {
  llm::Config c = tiny;
  c.ffn_dim = 32;
  c.norm_eps = 1e-6;
  c.position = llm::Position::rope_interleaved;
  return c;
}();
constexpr llm::Config written_out = [] {
  llm::Config c = tiny;
  c.head_dim = 0;  // d_model / n_heads, the same 4
  c.rope_dim = 4;
  return c;
}();
constexpr llm::Config shorter = [] {
  llm::Config c = tiny;
  c.max_seq_len = 8;
  return c;
}();
}  // namespace

TEST_CASE("a checkpoint of another config is refused with the differing fields and both values") {
  const TemporaryFolder folder;
  Training<Tiny> run;
  run.train(1);
  llm::save_checkpoint(folder.path(), run.model, run.optimizer, run.batches.state());
  auto other = llm::LLM<wider>::random(3);
  const auto before = all_weights(other);
  llm::AdamW optimizer(other);
  CHECK_THROWS_AS(llm::load_checkpoint(folder.path(), other, optimizer), llm::ConfigError);
  CHECK_THROWS_WITH(
      llm::load_weights(folder.path(), other),
      Catch::Contains("ffn_dim is 24 in the file, 32 in the model; norm_eps is 1e-05 in the file, 1e-06 in the model; position is "
                      "rope_half in the file, rope_interleaved in the model"));
  CHECK(same_bits(all_weights(other), before));

  auto same = llm::LLM<written_out>::random(3);
  llm::load_weights(folder.path(), same);
  CHECK(same_bits(all_weights(same), all_weights(run.model)));
  auto small = llm::LLM<shorter>::random(3);
  llm::load_weights(folder.path(), small);
  CHECK(same_bits(all_weights(small), all_weights(run.model)));
  llm::AdamW small_optimizer(small);
  CHECK_THROWS_WITH(llm::load_checkpoint(folder.path(), small, small_optimizer), Catch::Contains("max_seq_len is 16 in the file, 8"));
}

TEST_CASE("loading clears gradients, and an optimizer of another model is refused") {
  const TemporaryFolder folder;
  Training<Tiny> run;
  run.train(1);
  {
    llm::Tape tape;
    const auto ids = Tiny::Ids::full({1, 4}, 3);
    tape.backward(run.model.loss(ids, ids));
  }
  llm::save_checkpoint(folder.path(), run.model, run.optimizer, run.batches.state());
  auto fresh = Tiny::random(3);
  {
    llm::Tape tape;
    const auto ids = Tiny::Ids::full({1, 4}, 3);
    tape.backward(fresh.loss(ids, ids));
  }
  llm::load_checkpoint(folder.path(), run.model, run.optimizer);
  llm::load_weights(folder.path(), fresh);
  for (auto* const model : {&run.model, &fresh}) model->for_each_parameter([](auto& p) { CHECK_FALSE(p.tensor().has_grad()); });
  auto other = Tiny::random(1);
  CHECK_THROWS_AS(llm::load_checkpoint(folder.path(), other, run.optimizer), llm::ValueError);
  CHECK_THROWS_AS(llm::save_checkpoint(folder.path(), other, run.optimizer, {}), llm::ValueError);
}

namespace {

/// A saved checkpoint whose tensors and metadata a test can change and write again.
struct Forged {
  TemporaryFolder folder;
  Training<Tiny> run;
  std::vector<llm::TensorToWrite> tensors;
  std::map<std::string, std::string> metadata;
  std::vector<std::vector<std::byte>> contents;

  Forged() {
    run.train(2);
    llm::save_checkpoint(folder.path(), run.model, run.optimizer, run.batches.state());
    const auto file = llm::SafetensorsFile::open(llm::checkpoint_path(folder.path()));
    metadata = file.metadata();
    for (const auto& entry : file.tensors()) {
      contents.emplace_back(entry.bytes.begin(), entry.bytes.end());
      tensors.push_back({entry.name, entry.dtype, entry.shape, contents.back()});
    }
  }
  llm::TensorToWrite& tensor(const std::string& name) {
    for (auto& t : tensors)
      if (t.name == name) return t;
    throw std::runtime_error("no tensor " + name);
  }
  /// What loading the changed file says; checks that nothing in the model or the optimizer changed.
  std::string error() {
    llm::write_safetensors(llm::checkpoint_path(folder.path()), tensors, metadata);
    Training<Tiny> other(9);
    other.train(1);
    const auto weights = all_weights(other.model);
    const auto moments = all_moments(other.optimizer);
    std::string text;
    try {
      llm::load_checkpoint(folder.path(), other.model, other.optimizer);
    } catch (const llm::FileError& e) {
      text = e.what();
    }
    CHECK(same_bits(all_weights(other.model), weights));
    CHECK(same_bits(all_moments(other.optimizer), moments));
    CHECK(other.optimizer.steps() == 1);
    return text;
  }
};

}  // namespace

TEST_CASE("missing, extra, misshapen and wrongly typed tensors are named, and nothing changes [unused_tensors][missing_tensors]") {
  Forged f;
  const std::string q = "model.layers.1.self_attn.q_proj.weight";
  SECTION("missing") {
    f.tensor(q).name = "optimizer.m.other";
    f.tensor("model.norm.weight").name = "model.norm.scale";
    CHECK_THAT(f.error(), Catch::Contains("lacks 2 tensors: '" + q + "', 'model.norm.weight'"));
  }
  SECTION("extra") {
    f.tensors.push_back({"model.layers.0.self_attn.q_proj.bias", llm::DType::f32, {0}, {}});
    CHECK_THAT(f.error(), Catch::Contains("has 1 tensor: 'model.layers.0.self_attn.q_proj.bias', which the model has not"));
    auto model = Tiny::random(1);
    CHECK_THROWS_WITH(llm::load_weights(f.folder.path(), model), Catch::Contains("q_proj.bias', which the model has not"));
  }
  SECTION("extra, with a command for the terminal as its name") {
    f.tensors.push_back({"\x1b[2J", llm::DType::f32, {0}, {}});
    CHECK_THAT(f.error(), Catch::Contains("has 1 tensor: '?[2J', which the model has not"));
  }
  SECTION("misshapen") {
    f.tensor(q).shape = {8, 32};
    CHECK_THAT(f.error(), Catch::Contains("tensor " + q + " has shape [8, 32], the model has [16, 16]"));
  }
  SECTION("another element type") {
    f.tensor("optimizer.v." + q).dtype = llm::DType::i32;
    CHECK_THAT(f.error(), Catch::Contains("tensor optimizer.v." + q + " holds i32, the model has f32"));
  }
}

namespace {
constexpr llm::Config tied = [] {
  llm::Config c = tiny;
  c.tie_embeddings = true;
  return c;
}();
}  // namespace

TEST_CASE("a tied model's file has no head: it loads, and logits are E x [tied_missing]") {
  using Tied = llm::LLM<tied, llm::Trainable<double>>;
  const TemporaryFolder folder;
  Training<Tied> run;
  run.train(2);
  llm::save_checkpoint(folder.path(), run.model, run.optimizer, run.batches.state());
  CHECK(llm::SafetensorsFile::open(llm::checkpoint_path(folder.path())).find("lm_head.weight") == nullptr);
  auto loaded = Tied::random(9);
  llm::load_weights(folder.path(), loaded);
  const auto ids = Tied::Ids::from({3, 1, 4}, {1, 3});
  const auto logits = loaded(ids).to_vector();
  const auto x = loaded.hidden_states(ids).back().to_vector();
  loaded.for_each_parameter([&](const auto& p) {
    if (p.name() != "model.embed_tokens.weight") return;
    const auto e = p.tensor().to_vector();
    for (std::size_t t = 0; t < 3; ++t)
      for (std::size_t v = 0; v < std::size_t{Tied::V}; ++v) {
        double sum = 0;
        for (std::size_t d = 0; d < std::size_t{Tied::D}; ++d) sum += e[v * std::size_t{Tied::D} + d] * x[t * std::size_t{Tied::D} + d];
        REQUIRE(logits[t * std::size_t{Tied::V} + v] == Approx(sum).margin(1e-12));
      }
  });
}

TEST_CASE("a head beside a tied embedding is refused, equal or not: a checkpoint never has one [tied_redundant]") {
  using Tied = llm::LLM<tied>;
  const TemporaryFolder folder;
  Training<Tied> run;
  llm::save_checkpoint(folder.path(), run.model, run.optimizer, run.batches.state());
  const std::string path = llm::checkpoint_path(folder.path());
  std::vector<std::vector<std::byte>> contents;
  std::vector<llm::TensorToWrite> tensors;
  std::map<std::string, std::string> metadata;
  {
    const auto file = llm::SafetensorsFile::open(path);
    metadata = file.metadata();
    contents.reserve(file.tensors().size() + 1);
    for (const auto& entry : file.tensors()) {
      contents.emplace_back(entry.bytes.begin(), entry.bytes.end());
      tensors.push_back({entry.name, entry.dtype, entry.shape, contents.back()});
    }
    const auto& embedding = file.at("model.embed_tokens.weight");
    contents.emplace_back(embedding.bytes.begin(), embedding.bytes.end());
    tensors.push_back({"lm_head.weight", embedding.dtype, embedding.shape, contents.back()});
  }
  for (const bool equal : {true, false}) {
    if (!equal) contents.back()[0] ^= std::byte{1};
    llm::write_safetensors(path, tensors, metadata);
    auto model = Tied::random(9);
    const auto before = all_weights(model);
    CHECK_THROWS_WITH(llm::load_weights(folder.path(), model), Catch::Contains("'lm_head.weight', which the model has not"));
    CHECK(all_weights(model) == before);
  }
}

TEST_CASE("metadata that is missing, unknown or wrong is named") {
  Forged f;
  const auto replace = [&](const char* key, const std::string& from, const std::string& to) {
    std::string& text = f.metadata.at(key);
    REQUIRE(text.find(from) != std::string::npos);
    text.replace(text.find(from), from.size(), to);
  };
  std::string expected;
  SECTION("another file") {
    f.metadata.erase("config");
    expected = "is no checkpoint of this library: its metadata has no 'config'";
  }
  SECTION("a later format") {
    f.metadata["checkpoint_version"] = "2";
    expected = "checkpoint_version is '2', this library reads 1";
  }
  SECTION("a missing field") {
    replace("config", "\"qk_norm\":true,", "");
    expected = "checkpoint.safetensors: config: field 'qk_norm' is missing";
  }
  SECTION("an unknown field") {
    replace("config", "{", "{\"experts\":8,");
    expected = "config: field 'experts' is unknown";
  }
  SECTION("a field twice") {
    replace("config", "{", "{\"d_model\":8,");
    expected = "config: field 'd_model' occurs twice";
  }
  SECTION("a value of another type") {
    replace("config", "\"rope_half\"", "\"alibi\"");
    expected = "config: field 'position' is \"alibi\", expected one of this field's names";
  }
  SECTION("a number that does not fit") {
    replace("config", "\"d_model\":16", "\"d_model\":18446744073709551615");
    expected = "config: field 'd_model' is 18446744073709551615, expected an integer of 64 bits";
  }
  SECTION("a value nested deep") {
    replace("config", "\"d_model\":16", "\"d_model\":" + std::string(400'000, '[') + std::string(400'000, ']'));
    expected = "config: field 'd_model' is nested deeper than 2 levels";
  }
  SECTION("an array") {
    replace("config", "\"d_model\":16", "\"d_model\":[16]");
    expected = "config: field 'd_model' is an array, expected an integer of 64 bits";
  }
  SECTION("a command for the terminal as a value") {
    replace("config", "\"rope_half\"",
            "\"\xc2\x9b"
            "2J\"");
    expected = "config: field 'position' is \"\\u009b2J\", expected";
  }
  SECTION("a command for the terminal as a field") {
    replace("config", "{", "{\"\\u001b[2J\":8,");
    expected = "config: field '?[2J' is unknown";
  }
  SECTION("a command for the terminal as a version") {
    f.metadata["checkpoint_version"] = "\x1b[2J";
    expected = "checkpoint_version is '?[2J', this library reads 1";
  }
  SECTION("more steps than can be counted on") {
    replace("optimizer", "\"steps\":2", "\"steps\":9223372036854775807");
    expected = "a step count is negative or beyond 2^62";
  }
  SECTION("no JSON") {
    replace("data", "}", "");
    expected = "data: is not valid JSON";
  }
  SECTION("a negative step") {
    replace("data", "\"step\":2", "\"step\":-2");
    expected = "a step count is negative";
  }
  SECTION("another optimizer") {
    replace("optimizer", "adamw", "lion");
    expected = "the optimizer is 'lion', expected 'adamw'";
  }
  CHECK_THAT(f.error(), Catch::Contains(expected));
}

TEST_CASE("notes that are no UTF-8 are an error of the library, and the old checkpoint stays") {
  const TemporaryFolder folder;
  Training<Tiny> run;
  llm::save_checkpoint(folder.path(), run.model, run.optimizer, run.batches.state());
  for (const auto& [name, word] : std::map<std::string, std::string>{{"data", "/a/caf\xe9"}, {"na\xefve", "x"}})
    CHECK_THROWS_AS(llm::save_checkpoint(folder.path(), run.model, run.optimizer, run.batches.state(), {"", {{name, word}}}),
                    llm::ValueError);
  CHECK(llm::read_checkpoint_info(folder.path()).notes.words.empty());
}

TEST_CASE("a missing or damaged checkpoint is an error naming the file") {
  const TemporaryFolder folder;
  Training<Tiny> run;
  CHECK_THROWS_WITH(llm::read_checkpoint_info(folder / "none"), Catch::Contains("none/checkpoint.safetensors"));
  llm::save_checkpoint(folder.path(), run.model, run.optimizer, run.batches.state());
  const std::string path = llm::checkpoint_path(folder.path());
  const std::string whole = llm_test::read_file(path);
  for (std::size_t part = 0; part < 16; ++part) {
    llm_test::write_file(path, whole.substr(0, whole.size() * part / 16));
    CHECK_THROWS_AS(llm::load_checkpoint(folder.path(), run.model, run.optimizer), llm::FileError);
  }
  llm_test::write_file(folder / "file", "");
  CHECK_THROWS_WITH(llm::save_checkpoint(folder / "file", run.model, run.optimizer, {}), Catch::Contains("cannot"));
}

namespace {
/// A device whose memory the host must not read directly, as far as the library knows.
struct FarMemory {
  static void* allocate(std::size_t bytes) { return llm::HostMemory::allocate(bytes); }
  static void release(void* p, std::size_t bytes) noexcept { llm::HostMemory::release(p, bytes); }
  static void copy_to_host(void* to, const void* from, std::size_t bytes) { llm::HostMemory::copy_to_host(to, from, bytes); }
  static void copy_from_host(void* to, const void* from, std::size_t bytes) { llm::HostMemory::copy_from_host(to, from, bytes); }
};
struct Far : llm::Reference {
  using memory = FarMemory;
};
}  // namespace

TEST_CASE("a model in the memory of a device is saved and restored through the host") {
  using Model = llm::LLM<tiny, llm::Trainable<float>, Far>;
  const TemporaryFolder folder;
  Training<Model> run;
  run.train(2);
  llm::save_checkpoint(folder.path(), run.model, run.optimizer, run.batches.state());
  auto model = Model::random(5);
  llm::load_weights(folder.path(), model);
  CHECK(same_bits(all_weights(model), all_weights(run.model)));
}
