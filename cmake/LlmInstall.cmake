# Install rules: headers, the CMake package llm with llm_add_model, the pkg-config files. Nothing depends on the architecture.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(llm_package_dir "${CMAKE_INSTALL_DATADIR}/cmake/llm")
set(llm_pkgconfig_dir "${CMAKE_INSTALL_DATADIR}/pkgconfig")

install(TARGETS llm_llm EXPORT llmTargets FILE_SET HEADERS FILE_SET cuda_headers)
install(TARGETS llm_io EXPORT llmTargets FILE_SET HEADERS)
install(TARGETS llm_text EXPORT llmTargets FILE_SET HEADERS)
install(TARGETS llm_sentencepiece EXPORT llmTargets FILE_SET HEADERS)
install(EXPORT llmTargets NAMESPACE llm:: DESTINATION "${llm_package_dir}")

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/llmConfig.cmake.in" "${PROJECT_BINARY_DIR}/llmConfig.cmake"
                              INSTALL_DESTINATION "${llm_package_dir}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/llmConfigVersion.cmake" COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES "${PROJECT_BINARY_DIR}/llmConfig.cmake" "${PROJECT_BINARY_DIR}/llmConfigVersion.cmake" DESTINATION "${llm_package_dir}")
install(FILES "${CMAKE_CURRENT_LIST_DIR}/LlmAddModel.cmake" "${CMAKE_CURRENT_LIST_DIR}/LlmTextDependencies.cmake"
              "${CMAKE_CURRENT_LIST_DIR}/emit_config.cpp" DESTINATION "${llm_package_dir}")

# The prefix is written relative to the file, so that an installed tree can be moved.
file(RELATIVE_PATH llm_prefix_from_pc "/${llm_pkgconfig_dir}" "/")
foreach(name llm llm-io llm-text)
  configure_file("${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in" "${PROJECT_BINARY_DIR}/${name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${name}.pc" DESTINATION "${llm_pkgconfig_dir}")
endforeach()
