# What our own tests, examples and benchmarks add: warnings, the machine's instructions, sanitizers. Never exported.

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug, RelWithDebInfo or MinSizeRel" FORCE)
endif()

add_library(llm_development INTERFACE)
set(llm_gnu_like "$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>")
target_compile_options(llm_development INTERFACE
  "$<${llm_gnu_like}:-Wall;-Wextra;-Wpedantic;-Wconversion;-Wshadow>"
  # g++ 12 warns falsely about overlapping copies inside std::string (GCC bug 105651).
  "$<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>"
  "$<$<AND:${llm_gnu_like},$<BOOL:${LLM_WARNINGS_AS_ERRORS}>>:-Werror>")

if(LLM_NATIVE)
  include(CheckCXXCompilerFlag)
  check_cxx_compiler_flag(-march=native LLM_HAS_MARCH_NATIVE)
  if(LLM_HAS_MARCH_NATIVE)
    target_compile_options(llm_development INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-march=native>")
  endif()
endif()

if(LLM_SANITIZE STREQUAL "address+undefined")
  set(llm_sanitize_flags -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
elseif(LLM_SANITIZE STREQUAL "thread")
  set(llm_sanitize_flags -fsanitize=thread -fno-omit-frame-pointer)
elseif(NOT LLM_SANITIZE STREQUAL "")
  message(FATAL_ERROR "llm: LLM_SANITIZE is '${LLM_SANITIZE}'; expected empty, address+undefined or thread")
endif()
if(llm_sanitize_flags)
  target_compile_options(llm_development INTERFACE ${llm_sanitize_flags})
  target_link_options(llm_development INTERFACE ${llm_sanitize_flags})
endif()

# The kernels, compiled once for the programs that link this. Tests of the library as users have it, in headers alone, do not.
add_library(llm_kernels STATIC EXCLUDE_FROM_ALL)
foreach(type float double bf16)
  set(source "${PROJECT_BINARY_DIR}/kernels/${type}.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "#include <llm/backend/cpu/instantiate.hpp>\n\nLLM_INSTANTIATE_KERNELS(@type@)\n" @ONLY)
  target_sources(llm_kernels PRIVATE "${source}")
endforeach()
target_link_libraries(llm_kernels PUBLIC llm::llm PRIVATE llm_development)
target_compile_definitions(llm_kernels PUBLIC LLM_EXTERN_KERNELS)
if(llm_sanitize_flags)
  target_compile_options(llm_kernels PRIVATE -O1)  # without, as tests are compiled under a sanitizer, their loops are too slow
endif()
set_target_properties(llm_kernels PROPERTIES CXX_EXTENSIONS OFF)

# Programs a user runs go to bin/ of the build folder.
function(llm_add_program name source)
  get_filename_component(program "${source}" NAME_WE)
  add_executable(${name} "${source}")
  target_link_libraries(${name} PRIVATE llm::io llm_development ${ARGN})
  target_compile_definitions(${name} PRIVATE "LLM_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\"")
  set_target_properties(${name} PROPERTIES OUTPUT_NAME ${program} RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin" CXX_EXTENSIONS OFF)
endfunction()
