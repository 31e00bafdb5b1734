# One CMake target per folder of the source tree, all built by the same rules.
include_guard()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
set(CMAKE_VERIFY_INTERFACE_HEADER_SETS ON)

option(PENSTOCK_COVERAGE_MARKS "Count passages of rare branches (common/base/coverage_mark.hpp); off in release" OFF)
set(PENSTOCK_SANITIZE "" CACHE STRING "Argument of -fsanitize, e.g. address,undefined or thread")

find_program(PENSTOCK_CCACHE ccache)
if(PENSTOCK_CCACHE)
  # ccache keeps what is compiled with a precompiled header only when it may ignore those.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${PENSTOCK_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${PENSTOCK_CCACHE})
endif()
find_program(PENSTOCK_MOLD mold)
if(PENSTOCK_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

add_library(penstock_rules INTERFACE)
target_include_directories(penstock_rules INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(penstock_rules INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wno-missing-field-initializers -Werror)
# All is position-independent, because the archives also go into the client's shared library; but nobody overrides our
# functions at load time. Without this option GCC inlines hardly any, not even within one file.
target_compile_options(penstock_rules INTERFACE
  $<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>>:-fno-semantic-interposition>)
# A fused multiply-add rounds once where two instructions round twice, and GCC takes it wherever the processor has it: the
# cores would decide otherwise there. x86-64's baseline has none, and the option would change the key of every object.
if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  target_compile_options(penstock_rules INTERFACE -ffp-contract=off)
endif()
if(PENSTOCK_COVERAGE_MARKS)
  target_compile_definitions(penstock_rules INTERFACE PENSTOCK_COVERAGE_MARKS)
endif()
# A release ends where a defect of memory would be used, see scripts/checksec. Not -fcf-protection: the start files of Debian 12
# have no mark of it, so no program there turns it on.
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT PENSTOCK_SANITIZE)
  include(CheckPIESupported)
  check_pie_supported()
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection)
  add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
endif()
option(PENSTOCK_FUZZ "Programs of tests/fuzz with libFuzzer; needs clang" OFF)
if(PENSTOCK_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(PENSTOCK_SANITIZE)
  add_compile_options(-fsanitize=${PENSTOCK_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${PENSTOCK_SANITIZE})
  # GCC 12 reports members of moved-from variants that its own instrumentation hides.
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  if(PENSTOCK_SANITIZE MATCHES undefined)
    add_compile_options(-fno-sanitize=vptr)  # Pure folders have no type information: each shared pointer would be reported.
  endif()
  if(PENSTOCK_SANITIZE MATCHES thread)
    # Asio's fences are invisible to the sanitizer; GCC says so as an error.
    add_compile_options(-Wno-tsan)
  endif()
endif()

# Sources of one folder that a release compiles as one file where a target is BATCHED.
set(PENSTOCK_BATCH 6)

# Puts each source into the group of those that a release compiles as one file.
function(penstock_group_sources sources together batched)
  foreach(source IN LISTS sources)
    if(source IN_LIST together)
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP together)
    elseif(batched)
      get_filename_component(folder ${source} DIRECTORY)
      string(MAKE_C_IDENTIFIER "in_${folder}" group)
      if(NOT DEFINED count_${group})
        set(count_${group} 0)
      endif()
      math(EXPR batch "${count_${group}} / ${PENSTOCK_BATCH}")
      math(EXPR count_${group} "${count_${group}} + 1")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group}_${batch})
    endif()
  endforeach()
endfunction()

# penstock_folder(TARGET [PURE] [BATCHED] [AT_LINK] SOURCES ... [TOGETHER ...] HEADERS ... [PRECOMPILE ...] [LINK ...])
#
# A header whose source includes it first (scripts/tidy wants that of each) compiles alone if the source does. The other
# HEADERS are compiled alone by all_verify_interface_header_sets; where PRECOMPILE headers come before a source's own
# header, all are.
# TOGETHER are those of SOURCES that call each other for every subtask: a release compiles them as one file, so that
# the calls can be inlined.
# AT_LINK: a release optimizes the folder again when a program is linked, so that calls between such folders are
# inlined, too. Only for the folders that each subtask passes several times: every program pays for it (penstock: 5 s).
# BATCHED: a release compiles the other sources of a folder a few at a time, so that their headers are read once for
# all; names in their anonymous namespaces must differ. Development compiles each alone, because most changes are to one.
# PURE marks a folder of decisions: no exceptions, no RTTI, and scripts/fence_nm checks that its archive reaches no
# clock, thread, socket, file or environment.
function(penstock_folder target)
  cmake_parse_arguments(ARG "PURE;BATCHED;AT_LINK" "" "SOURCES;TOGETHER;HEADERS;PRECOMPILE;LINK" ${ARGN})
  add_library(${target} STATIC ${ARG_SOURCES})
  set(lone ${ARG_HEADERS})
  if(ARG_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE ${ARG_PRECOMPILE})
  else()
    list(TRANSFORM ARG_SOURCES REPLACE "\\.cpp$" ".hpp" OUTPUT_VARIABLE included_first)
    list(REMOVE_ITEM lone ${included_first})
  endif()
  target_sources(${target} PUBLIC
    FILE_SET HEADERS BASE_DIRS ${CMAKE_SOURCE_DIR} FILES ${ARG_HEADERS}
    FILE_SET lone TYPE HEADERS BASE_DIRS ${CMAKE_SOURCE_DIR} FILES ${lone})
  set_target_properties(${target} PROPERTIES INTERFACE_HEADER_SETS_TO_VERIFY lone)
  target_link_libraries(${target} PUBLIC penstock_rules ${ARG_LINK})
  if(CMAKE_BUILD_TYPE STREQUAL "Release" AND (ARG_TOGETHER OR ARG_BATCHED))
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    penstock_group_sources("${ARG_SOURCES}" "${ARG_TOGETHER}" ${ARG_BATCHED})
  endif()
  if(ARG_AT_LINK AND CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU"
     AND NOT CMAKE_CROSSCOMPILING)
    set_target_properties(${target} PROPERTIES INTERPROCEDURAL_OPTIMIZATION ON)
  endif()
  if(ARG_PURE)
    target_compile_options(${target} PRIVATE -fno-exceptions -fno-rtti)
    set_property(GLOBAL APPEND PROPERTY PENSTOCK_PURE_ARCHIVES $<TARGET_FILE:${target}>)
  endif()
endfunction()

# Settings of toml++ for a source that parses with it; all must have the same, because its functions are inline.
# It returns errors as values. Its assertions are off: version 3.3 asserts on malformed files (`[[[a]]]`, mended upstream by
# pull request 301), where the check behind the assertion reports the error.
function(penstock_toml_source file)
  set_source_files_properties(${file} PROPERTIES COMPILE_DEFINITIONS TOML_EXCEPTIONS=0
    COMPILE_OPTIONS "-UNDEBUG;-DTOML_ASSERT(expr)=static_cast<void>(0)")
endfunction()

# Writes the paths of the pure archives, one a line, for scripts/fence_nm. Runs when all folders are known.
function(penstock_list_pure_archives)
  get_property(archives GLOBAL PROPERTY PENSTOCK_PURE_ARCHIVES)
  list(JOIN archives "\n" archives)
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/pure_archives.txt CONTENT "${archives}\n")
endfunction()
cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR} CALL penstock_list_pure_archives)
