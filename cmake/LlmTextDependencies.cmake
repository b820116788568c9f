# Finds what the tokenizers of published models need: PCRE2 and utf8proc, and sentencepiece for its own files. The library and its installed
# package include this. A target that the surrounding project has already made is used as it is.

function(llm_find_plain_library target header)
  if(TARGET ${target})
    return()
  endif()
  string(MAKE_C_IDENTIFIER "LLM_${target}" prefix)
  find_path(${prefix}_INCLUDE_DIR ${header})
  find_library(${prefix}_LIBRARY NAMES ${ARGN})
  mark_as_advanced(${prefix}_INCLUDE_DIR ${prefix}_LIBRARY)
  if(${prefix}_INCLUDE_DIR AND ${prefix}_LIBRARY)
    add_library(${target} UNKNOWN IMPORTED GLOBAL)  # whoever links llm::text must see it, also from another folder
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION "${${prefix}_LIBRARY}"
                                               INTERFACE_INCLUDE_DIRECTORIES "${${prefix}_INCLUDE_DIR}")
  endif()
endfunction()

llm_find_plain_library(PCRE2::8BIT pcre2.h pcre2-8 pcre2-8-static)
llm_find_plain_library(utf8proc::utf8proc utf8proc.h utf8proc utf8proc_static)
llm_find_plain_library(sentencepiece::sentencepiece sentencepiece_processor.h sentencepiece)
