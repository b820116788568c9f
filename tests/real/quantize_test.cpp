// A published model in other formats: what llama.cpp says of its perplexity, and how little encoding changes it.
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <llm/configs/smollm2.hpp>
#include <llm/generate/perplexity.hpp>
#include <llm/io.hpp>
#include <llm/io/load.hpp>
#include <llm/model.hpp>
#include <llm/tokenizer.hpp>
#include <support/catch.hpp>
#include <support/temporary_folder.hpp>

namespace {

const std::string text =
    "In the beginning God created the heaven and the earth. And the earth was without form, and void; and darkness was upon the face of "
    "the "
    "deep. And the Spirit of God moved upon the face of the waters. And God said, Let there be light: and there was light. And God saw the "
    "light, that it was good: and God divided the light from the darkness. And God called the light Day, and the darkness he called Night. "
    "And the evening and the morning were the first day. And God said, Let there be a firmament in the midst of the waters, and let it "
    "divide the waters from the waters.";

/// False, with a message, when the model could not be fetched.
bool has_model() {
  if (std::ifstream(LLM_TEST_REAL_MODEL).good()) return true;
  std::puts("skipped: there is no " LLM_TEST_REAL_MODEL);
  return false;
}

double nats(const std::string& path) {
  const auto ids = llm::Tokenizer::from_file(path).encode(text);
  return llm::perplexity(llm::load<llm::configs::smollm2_135m>(path), ids, llm::PerplexityOptions::separate(48)).mean();
}

}  // namespace

TEST_CASE("SmolLM2 in other formats predicts as its source does, and as llama.cpp says") {
  if (!has_model()) return;
  const llm_test::TemporaryFolder folder;
  const auto source = llm::GgufFile::open(LLM_TEST_REAL_MODEL);
  const auto in_format = [&](llm::DType format) {
    llm::write_gguf(folder / "m.gguf", source, {.format = [=](const llm::PlannedTensor& tensor, llm::DType) {
                      return llm::mixed_format(tensor, format, llm::configs::smollm2_135m.n_layers);
                    }});
    return nats(folder / "m.gguf");
  };
  const double published = nats(LLM_TEST_REAL_MODEL);
  CHECK(std::abs(published - 0.98260) < 0.04);  // llama.cpp 0c1e570 on the weights in f32
  CHECK(std::abs(in_format(llm::DType::q8_0) - published) < 0.04);
  CHECK(std::abs(in_format(llm::DType::q5_0) - 1.28244) < 0.05);  // llama.cpp on its own q5_0 of them, which has the same bytes
}
