// The version of the library; the build files read it from here.
#pragma once

#define LLM_VERSION_MAJOR 0
#define LLM_VERSION_MINOR 1
#define LLM_VERSION_PATCH 0

namespace llm {

/// Semantic version: before 1.0 a minor step may break a program.
struct Version {
  int major_number, minor_number, patch_number;
};
inline constexpr Version version{LLM_VERSION_MAJOR, LLM_VERSION_MINOR, LLM_VERSION_PATCH};

}  // namespace llm
