// The main job: trains a compiled-in model on a text, shows how the loss falls, saves checkpoints and ends with a sample.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include <llm/model.hpp>
#include <llm/text.hpp>
#include <llm/train.hpp>

#include "support/interrupt.hpp"
#include "support/metrics.hpp"
#include "support/models.hpp"
#include "support/progress.hpp"
#include "support/terminal.hpp"
#include "support/train_options.hpp"
#include "support/train_report.hpp"
#include "support/training_text.hpp"

namespace {

template <const llm::Config& C, class T>
int train(const examples::TrainingJob& job, std::string_view name) {
  const examples::TrainOptions& o = job.options;
  const auto notes = examples::notes_of(o, job.tokenizer.characters(), examples::fingerprint(job.text));
  auto model = llm::LLM<C, llm::Trainable<T>>::random(o.seed);
  llm::AdamW optimizer(model, {.weight_decay = 0.1});
  const llm::WarmupCosine schedule{.max_lr = o.max_lr, .min_lr = 0.1 * o.max_lr, .warmup = o.warmup, .steps = o.steps};
  auto batches = llm::random_windows(job.split.train, {.batch = o.batch, .length = o.length, .steps = o.steps, .seed = o.seed});
  if (o.resume) batches.restore(llm::load_checkpoint(o.out, model, optimizer).data);
  const auto validate = [&](std::size_t most) {
    const auto part = job.split.validation.first((std::min)(most, job.split.validation.size()));
    return llm::evaluate(model, llm::sequential_windows(part, {.batch = o.batch, .length = o.length}));
  };
  const auto some = static_cast<std::size_t>(8 * o.batch * o.length + 1);  // validation of 8 batches at each printed line

  examples::print_head<C>(job, name);
  examples::Metrics metrics(o.out, batches.state().step);
  examples::ProgressBar bar(batches.state().step, o.steps);
  const examples::Interrupt ctrl_c;
  examples::Stopwatch watch;
  for (const auto& batch : batches) {
    examples::Measurement now{.step = batches.step() + 1, .lr = schedule(batches.step())};
    llm::Tape tape;
    const auto loss = model.loss(batch.inputs, batch.targets);
    now.loss = llm::finite_loss(loss);
    tape.backward(loss);
    now.grad_norm = optimizer.step(now.lr, 1.0);
    watch.count(batch.inputs.numel());
    const bool last = now.step == o.steps || ctrl_c.interrupted();
    const bool report = now.step == 1 || now.step % o.every == 0 || last;
    if (report) {
      now.tokens_per_second = watch.per_second();
      now.validation_loss = validate(some);
      bar.clear();
      examples::print_line(now);
    }
    metrics.add(now);
    if (report) {
      metrics.flush();
      llm::save_checkpoint(o.out, model, optimizer, batches.state(), notes);
      watch.restart();
    }
    if (last) break;
    bar.show(now.step, now.loss);
  }

  const std::string picture = metrics.draw(job.unigram_loss);
  std::printf("\nsaved       %s, %s/metrics.csv, %s\n", llm::checkpoint_path(o.out).c_str(), o.out.c_str(),
              picture.empty() ? "no picture of the losses: gnuplot is not installed" : picture.c_str());
  if (batches.state().step < o.steps) {
    std::printf("interrupted after step %lld of %lld; go on with: train --resume --out %s\n", static_cast<long long>(batches.state().step),
                static_cast<long long>(o.steps), o.out.c_str());
    return 130;
  }
  std::printf("validation  %.4f nats per character, the unigram model %.4f\n", validate(job.split.validation.size()), job.unigram_loss);
  const std::string sample = examples::sample(model, job, 300);
  std::printf("sample      %s\n", (examples::is_terminal(stdout) ? llm::escape_control(sample) : sample).c_str());
  return 0;
}

int run(examples::TrainOptions o) {
  if (const std::string earlier = llm::checkpoint_path(o.out); !o.resume && !o.overwrite && std::filesystem::exists(earlier))
    throw llm::FileError(earlier + ": an earlier run's (go on with it by --resume, replace it by --overwrite, or choose another --out)");
  std::string characters, text_before;
  if (o.resume) {
    const llm::CheckpointNotes notes = llm::read_checkpoint_info(o.out).notes;
    examples::take_options(o, notes);
    characters = notes.tokenizer;
    text_before = notes.words.at("text");
  }
  std::string text = examples::training_text(o.data, LLM_SOURCE_DIR);
  if (o.resume && text_before != examples::fingerprint(text))
    throw llm::FileError((o.data.empty() ? "the library's own text" : o.data) + ": is not the text that training began with any more");
  auto tokenizer = o.resume ? llm::CharTokenizer::from_characters(characters) : llm::CharTokenizer::from_text(text);
  const examples::TrainingJob job{o, std::move(text), std::move(tokenizer)};
  llm::set_num_threads(o.threads);
  std::filesystem::create_directories(o.out);
  int status = 0;
  examples::with_model(o.config, job.tokenizer.vocab_size(), [&]<const llm::Config & C>(std::string_view name) {
    status = o.dtype == "bf16" ? train<C, llm::bf16>(job, name) : train<C, float>(job, name);
  });
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Trains a small language model on a text.");
  try {
    examples::TrainOptions options;
    examples::parse(app, options, argc, argv);
    return run(options);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "\ntrain: %s\n", error.what());
    return 1;
  }
}
