// Writes the headers of all cases, one after the other, and a table of them by name.
#include <cstdio>
#include <string>

#include <llm/io/config_header.hpp>

#include "cases.hpp"

int main() {
  std::string table = "inline const std::pair<const char*, const llm::Config*> written[] = {\n";
  header_cases::for_each([&](const std::string& name, const llm::Config& config) {
    const std::string header = llm::config_header({.config = config, .family = llm::Family::llama, .source = name}, name);
    std::printf("%s\n", header.substr(header.find("#include")).c_str());  // one file: no #pragma once
    table += "    {\"" + name + "\", &" + name + "},\n";
  });
  std::printf("#include <utility>\n%s};\n", table.c_str());
}
