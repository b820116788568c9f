# llm_add_model(<target> CHECKPOINT <path> NAME <name>)
#
# Compiles <target> against exactly the model that <path> holds: <name>.hpp, which the target can include, defines
# `inline constexpr llm::Config <name>` with the checkpoint's config, and static_asserts of its figures. The header is written at build
# time, again when a file of the checkpoint changes. The build stops when the checkpoint cannot be read, or when its tensors do not fit
# its config.
#
# <path>: a folder with a config.json (and weights, or none), a .gguf or .safetensors file, or a config.json; relative to the current
# source folder. <name>: a C++ identifier. Needs nlohmann_json >= 3.11, as llm::io does. The program that writes headers is built when it
# is needed.
function(llm_add_model target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "CHECKPOINT;NAME" "")
  set(usage "llm_add_model(<target> CHECKPOINT <path> NAME <name>)")
  if(NOT TARGET "${target}")
    message(FATAL_ERROR "${usage}: there is no target '${target}'")
  endif()
  if(NOT arg_CHECKPOINT OR NOT arg_NAME OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${usage}: called with '${ARGV}'")
  endif()
  if(NOT arg_NAME MATCHES "^[A-Za-z][A-Za-z0-9_]*$")
    message(FATAL_ERROR "${usage}: NAME '${arg_NAME}' is no C++ identifier that begins with a letter")
  endif()
  cmake_path(ABSOLUTE_PATH arg_CHECKPOINT BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE OUTPUT_VARIABLE checkpoint)
  if(NOT EXISTS "${checkpoint}")
    message(FATAL_ERROR "${usage}: CHECKPOINT '${checkpoint}' does not exist")
  endif()

  if(NOT TARGET llm_emit_config)
    # What the library's own folder has found is not seen from here.
    if(NOT TARGET nlohmann_json::nlohmann_json)
      find_package(nlohmann_json 3.11 QUIET)
    endif()
    if(NOT TARGET nlohmann_json::nlohmann_json)
      message(FATAL_ERROR "${usage}: reading a checkpoint needs nlohmann_json >= 3.11, which was not found")
    endif()
    add_executable(llm_emit_config EXCLUDE_FROM_ALL "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/emit_config.cpp")
    target_link_libraries(llm_emit_config PRIVATE llm::io)
    set_target_properties(llm_emit_config PROPERTIES CXX_EXTENSIONS OFF)
  endif()

  # A change of one of these files is a change of the model.
  set(files "${checkpoint}")
  if(IS_DIRECTORY "${checkpoint}")
    file(GLOB files CONFIGURE_DEPENDS "${checkpoint}/config.json" "${checkpoint}/*.safetensors"
                                      "${checkpoint}/model.safetensors.index.json")
  elseif(checkpoint MATCHES "\\.safetensors$")
    cmake_path(GET checkpoint PARENT_PATH folder)
    file(GLOB config CONFIGURE_DEPENDS "${folder}/config.json")
    list(APPEND files ${config})
  endif()

  set(folder "${CMAKE_CURRENT_BINARY_DIR}/llm_models/${target}")
  set(header "${folder}/${arg_NAME}.hpp")
  file(MAKE_DIRECTORY "${folder}")
  add_custom_command(OUTPUT "${header}" COMMAND llm_emit_config "${checkpoint}" "${arg_NAME}" "${header}" DEPENDS llm_emit_config ${files}
                     COMMENT "Writing ${arg_NAME}.hpp from ${checkpoint}" VERBATIM)
  add_custom_target(${target}_${arg_NAME}_header DEPENDS "${header}")
  add_dependencies("${target}" ${target}_${arg_NAME}_header)

  get_target_property(type "${target}" TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    target_include_directories("${target}" INTERFACE "$<BUILD_INTERFACE:${folder}>")
  else()
    target_include_directories("${target}" PRIVATE "${folder}")
  endif()
endfunction()
