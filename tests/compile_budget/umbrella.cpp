// Every front door, and nothing else.
#include <llm/io.hpp>
#include <llm/model.hpp>
#include <llm/text.hpp>
#include <llm/train.hpp>
