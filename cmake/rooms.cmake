# SPDX-License-Identifier: BSD-3-Clause
# A room is one folder of src/ and one static library, tutti_<folder>. It names the rooms that it may
# know (ALLOW, as in ARCHITECTURE.md); tools/tidy checks that its #include lines keep to that.
function(tutti_room name)
  cmake_parse_arguments(ROOM "" "" "ALLOW;SOURCES;LINK" ${ARGN})
  add_library(tutti_${name} STATIC ${ROOM_SOURCES})
  target_include_directories(tutti_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  foreach(other ${ROOM_ALLOW})
    if(NOT TARGET tutti_${other})
      message(FATAL_ERROR "room ${name} may not know ${other}: it is not below it")
    endif()
    target_link_libraries(tutti_${name} PUBLIC tutti_${other})
  endforeach()
  target_link_libraries(tutti_${name} PRIVATE ${ROOM_LINK})
endfunction()
