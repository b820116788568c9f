# The targets llm::llm (Eigen, threads), llm::io (adds JSON), llm::text (adds PCRE2 and utf8proc) and llm::sentencepiece.
# Header-only: they carry include paths and requirements, no flags.

file(GLOB_RECURSE llm_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/llm/*.hpp" "${PROJECT_SOURCE_DIR}/include/llm/*.cuh")
set(llm_cuda_headers ${llm_headers})
list(FILTER llm_cuda_headers INCLUDE REGEX "/include/llm/backend/cuda/")
set(llm_io_headers ${llm_headers})
list(FILTER llm_io_headers INCLUDE REGEX "/include/llm/(io|train)[/.]|/include/llm/llm\\.hpp$")
set(llm_text_headers ${llm_headers})
list(FILTER llm_text_headers INCLUDE REGEX "/include/llm/(text/bpe/|io/(tokenizer_|chat_file)|(tokenizer|chat)\\.hpp$)")
set(llm_sentencepiece_headers "${PROJECT_SOURCE_DIR}/include/llm/text/sentencepiece.hpp")
list(REMOVE_ITEM llm_io_headers ${llm_text_headers})
list(REMOVE_ITEM llm_headers ${llm_text_headers} ${llm_sentencepiece_headers})
if(llm_cuda_headers)
  list(REMOVE_ITEM llm_headers ${llm_cuda_headers})
endif()
if(llm_io_headers)
  list(REMOVE_ITEM llm_headers ${llm_io_headers})
endif()

set(llm_base "${PROJECT_SOURCE_DIR}/include")

add_library(llm_llm INTERFACE)
add_library(llm::llm ALIAS llm_llm)
target_sources(llm_llm INTERFACE FILE_SET HEADERS BASE_DIRS "${llm_base}" FILES ${llm_headers})
# Only nvcc reads these, so that the check of each header leaves them out.
target_sources(llm_llm INTERFACE FILE_SET cuda_headers TYPE HEADERS BASE_DIRS "${llm_base}" FILES ${llm_cuda_headers})
target_compile_features(llm_llm INTERFACE cxx_std_20)
target_link_libraries(llm_llm INTERFACE Eigen3::Eigen)
if(LLM_OPENMP)
  target_link_libraries(llm_llm INTERFACE $<TARGET_NAME_IF_EXISTS:OpenMP::OpenMP_CXX>)
endif()

add_library(llm_io INTERFACE)
add_library(llm::io ALIAS llm_io)
target_sources(llm_io INTERFACE FILE_SET HEADERS BASE_DIRS "${llm_base}" FILES ${llm_io_headers})
target_link_libraries(llm_io INTERFACE llm_llm $<TARGET_NAME_IF_EXISTS:nlohmann_json::nlohmann_json>)

add_library(llm_text INTERFACE)
add_library(llm::text ALIAS llm_text)
target_sources(llm_text INTERFACE FILE_SET HEADERS BASE_DIRS "${llm_base}" FILES ${llm_text_headers})
target_link_libraries(llm_text INTERFACE llm_io $<TARGET_NAME_IF_EXISTS:PCRE2::8BIT> $<TARGET_NAME_IF_EXISTS:utf8proc::utf8proc>)

add_library(llm_sentencepiece INTERFACE)
add_library(llm::sentencepiece ALIAS llm_sentencepiece)
target_sources(llm_sentencepiece INTERFACE FILE_SET HEADERS BASE_DIRS "${llm_base}" FILES ${llm_sentencepiece_headers})
target_link_libraries(llm_sentencepiece INTERFACE llm_text $<TARGET_NAME_IF_EXISTS:sentencepiece::sentencepiece>)

# Built by the target all_verify_interface_header_sets: each header compiles alone.
set_target_properties(llm_llm PROPERTIES EXPORT_NAME llm VERIFY_INTERFACE_HEADER_SETS ON INTERFACE_HEADER_SETS_TO_VERIFY HEADERS)
set_target_properties(llm_io PROPERTIES EXPORT_NAME io VERIFY_INTERFACE_HEADER_SETS ON)
set_target_properties(llm_text PROPERTIES EXPORT_NAME text VERIFY_INTERFACE_HEADER_SETS ON)
set_target_properties(llm_sentencepiece PROPERTIES EXPORT_NAME sentencepiece)
