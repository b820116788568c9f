// All configs of the library, with the static_asserts of their counts, and nothing else.
#include <llm/configs/all.hpp>
