# A binary of ours, at the root of the build directory, installed with what it tells of itself.
include_guard()
include(GNUInstallDirs)

# penstock_program(NAME SOURCES ... LINK ...)
#
# The program has the commands `manual` and `completion` (cli/commands/program.hpp), whose output is made after each build of it
# and installed beside it.
function(penstock_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  set(made ${name}.1 ${name}.bash _${name} ${name}.fish)
  add_custom_command(OUTPUT ${made}
    COMMAND ${name} manual > ${name}.1
    COMMAND ${name} completion bash > ${name}.bash
    COMMAND ${name} completion zsh > _${name}
    COMMAND ${name} completion fish > ${name}.fish
    DEPENDS ${name} VERBATIM)
  add_custom_target(${name}_manual ALL DEPENDS ${made})
  set(place ${CMAKE_CURRENT_BINARY_DIR})
  install(TARGETS ${name})
  install(FILES ${place}/${name}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${place}/${name}.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME ${name})
  install(FILES ${place}/_${name} DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${place}/${name}.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endfunction()
