// Makes a GGUF file in a chosen format of a published model: a Hugging Face folder, a checkpoint of this library, or another GGUF file.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <thread>

#include <CLI/CLI.hpp>

#include <llm/io.hpp>
#include <llm/tokenizer.hpp>

#include "support/open_model.hpp"
#include "support/quantize_report.hpp"

namespace {

struct Options {
  std::string model, output, format = "q4_k", name;
  bool pure = false, overwrite = false, no_tokenizer = false;
  int threads = 0;  // 0: all cores
};

/// A format that matrices of a GGUF file may have, also as Q8_0. Throws ValueError for other words.
llm::DType format_of(std::string word) {
  for (char& c : word)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  llm::DType format = llm::DType::f32;
  if (!llm::parse_dtype(word, format) || format == llm::DType::f64 || format == llm::DType::i64 || format == llm::DType::i32 ||
      format == llm::DType::u8)
    throw llm::ValueError("--format " + llm::detail::in_quotes(word) +
                          " is none of f32 f16 bf16 q8_0 q4_0 q4_1 q5_0 q5_1 q2_k q3_k q4_k q5_k q6_k");
  return format;
}

/// A name, the tokenizer and the chat template, as far as they are there.
llm::GgufMetadata beside_the_weights(const Options& o, std::int64_t vocab_size) {
  const std::filesystem::path folder = llm::detail::model_folder(o.model);
  llm::GgufMetadata out;
  out.set("general.name", o.name.empty() ? std::filesystem::absolute(folder / ".").parent_path().filename().string() : o.name);
  if (o.no_tokenizer || !llm::find_tokenizer(o.model)) {
    if (!o.no_tokenizer) std::fprintf(stderr, "quantize: %s\n", llm::why_no_tokenizer(o.model).c_str());
    std::fprintf(stderr, "quantize: without a tokenizer programs that load the file take ids only\n");
    out.set("tokenizer.ggml.model", "no_vocab");
    return out;
  }
  const auto tokenizer = llm::Tokenizer::from_file(o.model);
  try {
    llm::set_gguf_tokenizer(out, *tokenizer.get_if<llm::BpeTokenizer>(), vocab_size);
  } catch (const llm::ValueError& error) {
    throw llm::FileError(o.model + ": " + error.what() + " (hint: --no-tokenizer leaves it out)");
  }
  llm::set_gguf_chat_template(out, folder.string());
  return out;
}

/// Programs know a GGUF file by its name, and a folder is not replaced.
void check_output(const Options& o) {
  if (!o.output.ends_with(".gguf")) throw llm::FileError(o.output + ": the output's name must end in .gguf");
  if (std::filesystem::is_directory(o.output)) throw llm::FileError(o.output + " is a folder");
  if (std::filesystem::exists(o.output) && !o.overwrite) throw llm::FileError(o.output + " exists (hint: --overwrite replaces it)");
}

void run(const Options& o) {
  const llm::DType format = format_of(o.format);
  check_output(o);
  examples::QuantizeReport report;
  std::int64_t layers = 0;
  llm::GgufWriteOptions options{.threads =
                                    o.threads > 0 ? o.threads : static_cast<int>((std::max)(1u, std::thread::hardware_concurrency()))};
  options.format = [&](const llm::PlannedTensor& tensor, llm::DType) { return llm::mixed_format(tensor, format, layers, o.pure); };
  options.progress = [&](const llm::WrittenTensor& tensor) { report.add(tensor); };
  if (o.model.ends_with(".gguf")) {
    const auto source = llm::GgufFile::open(o.model);
    layers = llm::read_gguf_config(source).config.n_layers;
    llm::write_gguf(o.output, source, options);
  } else {
    const auto files = examples::open_model(o.model);
    layers = files.model()->config.n_layers;
    llm::write_gguf(o.output, *files.model(), files.names(), files.tensors(), beside_the_weights(o, files.model()->config.vocab_size),
                    options);
  }
  report.print();
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app("Makes a GGUF file in a chosen format of a published model.");
  app.add_option("model", o.model, "a Hugging Face folder, or a .safetensors, .gguf or llama2.c .bin file")->required();
  app.add_option("output", o.output, "the .gguf file to make")->required();
  app.add_option("--format", o.format, "f32 f16 bf16 q8_0 q4_0 q4_1 q5_0 q5_1 q2_k q3_k q4_k q5_k q6_k; q4_k without it");
  app.add_flag("--pure", o.pure, "this format for all matrices: no more bits for the embedding, the head and sensitive layers");
  app.add_option("--threads", o.threads, "that encode; 0: all cores")->check(CLI::Range(0, 1024));
  app.add_option("--name", o.name, "general.name in the file; the folder's name without it");
  app.add_flag("--no-tokenizer", o.no_tokenizer, "leave the tokenizer out");
  app.add_flag("--overwrite", o.overwrite, "replace the output file if it exists");
  CLI11_PARSE(app, argc, argv);
  try {
    run(o);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "quantize: %s\n", error.what());
    return 1;
  }
}
