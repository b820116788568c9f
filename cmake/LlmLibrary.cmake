# The targets llm::llm (Eigen, threads) and llm::io (adds JSON). Header-only: they carry include paths and requirements, no flags.

file(GLOB_RECURSE llm_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/llm/*.hpp" "${PROJECT_SOURCE_DIR}/include/llm/*.cuh")
set(llm_cuda_headers ${llm_headers})
list(FILTER llm_cuda_headers INCLUDE REGEX "/include/llm/backend/cuda/")
set(llm_io_headers ${llm_headers})
list(FILTER llm_io_headers INCLUDE REGEX "/include/llm/(io|train)[/.]|/include/llm/llm\\.hpp$")
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

# Built by the target all_verify_interface_header_sets: each header compiles alone.
set_target_properties(llm_llm PROPERTIES EXPORT_NAME llm VERIFY_INTERFACE_HEADER_SETS ON INTERFACE_HEADER_SETS_TO_VERIFY HEADERS)
set_target_properties(llm_io PROPERTIES EXPORT_NAME io VERIFY_INTERFACE_HEADER_SETS ON)
