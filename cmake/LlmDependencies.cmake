# Finds what the library needs. A target that the surrounding project has already made is used as it is.

if(NOT TARGET Eigen3::Eigen)
  find_package(Eigen3 3.4 REQUIRED NO_MODULE)
endif()

# JSON serves llm::io alone: without it llm::llm is complete.
if(NOT TARGET nlohmann_json::nlohmann_json)
  find_package(nlohmann_json 3.11 QUIET)
endif()
if(NOT TARGET nlohmann_json::nlohmann_json)
  if(LLM_BUILD_TESTS OR LLM_BUILD_EXAMPLES)
    message(FATAL_ERROR "llm: tests and examples need nlohmann_json >= 3.11 (Debian: nlohmann-json3-dev)")
  endif()
  message(STATUS "llm: nlohmann_json not found, <llm/io.hpp> and <llm/train.hpp> cannot be used")
endif()

# These serve llm::text alone.
include(LlmTextDependencies)
if(NOT TARGET PCRE2::8BIT OR NOT TARGET utf8proc::utf8proc)
  if(LLM_BUILD_TESTS OR LLM_BUILD_EXAMPLES)
    message(FATAL_ERROR "llm: tests and examples need PCRE2 and utf8proc (Debian: libpcre2-dev, libutf8proc-dev)")
  endif()
  message(STATUS "llm: PCRE2 or utf8proc not found, <llm/tokenizer.hpp> cannot be used")
endif()

if(LLM_OPENMP STREQUAL "AUTO")
  find_package(OpenMP QUIET COMPONENTS CXX)
elseif(LLM_OPENMP)
  find_package(OpenMP REQUIRED COMPONENTS CXX)
endif()
if(LLM_OPENMP AND TARGET OpenMP::OpenMP_CXX)
  message(STATUS "llm: threads through OpenMP")
else()
  message(STATUS "llm: no OpenMP, one thread")
endif()
