// Front door: training. Tape, batches, AdamW, clipping, schedule, validation, checkpoints (adds a JSON library).
#pragma once

#include <llm/autograd/tape.hpp>
#include <llm/backend/cpu/cpu.hpp>
#include <llm/data/split.hpp>
#include <llm/data/text_file.hpp>
#include <llm/data/unigram.hpp>
#include <llm/train/adamw.hpp>
#include <llm/train/batches.hpp>
#include <llm/train/checkpoint.hpp>
#include <llm/train/clip.hpp>
#include <llm/train/evaluate.hpp>
#include <llm/train/schedule.hpp>
