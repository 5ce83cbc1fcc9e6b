# SPDX-License-Identifier: BSD-3-Clause
# What is installed must load where glibc is older than this machine's: a preloaded library that does
# not load ends every process of a container. So it is linked to stand-ins of the C library's files
# that hold this machine's symbols at the newest version up to TUTTI_GLIBC and no others. What has no
# such version is either in old_glibc.c or an undefined symbol when linking.
set(TUTTI_GLIBC 2.28)  # Enterprise Linux 8; the oldest with fcntl64, which <fcntl.h> asks for
set(stand_ins ${PROJECT_BINARY_DIR}/old_glibc)

# Sets `outcome` to the path of one of the C library's files, or to nothing.
function(find_c_library file outcome)
  execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=${file}
                  OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT IS_ABSOLUTE "${path}")
    set(path "")
  endif()
  set(${outcome} "${path}" PARENT_SCOPE)
endfunction()

# Up to glibc 2.33 these stand in libpthread and libdl, which we name among what we need. What moved
# into libc from other files (librt, libutil, libresolv ...) is left out.
set(moved_with_us "^(_*pthread_.*|sem_.*|dl.*|__libc_start_main)$")

# Writes the assembler source and the version script of a stand-in for `library`.
function(describe_stand_in library source script)
  execute_process(COMMAND ${CMAKE_OBJDUMP} -T ${library} OUTPUT_VARIABLE table
                  COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" lines "${table}")
  set(names "")
  foreach(line IN LISTS lines)
    # Address, flags, section, size, version (in brackets where it is not the default), name.
    if(NOT line MATCHES "^([0-9a-f]+) .(.)....(.) ([^ \t]+)\t([0-9a-f]+) +\\(?(GLIBC|GCC)_([0-9.]+)\\)? +(.+)$")
      continue()
    endif()
    set(address ${CMAKE_MATCH_1})
    set(weak "${CMAKE_MATCH_2}")
    set(kind "${CMAKE_MATCH_3}")
    set(section ${CMAKE_MATCH_4})
    set(bytes 0x${CMAKE_MATCH_5})
    set(family ${CMAKE_MATCH_6})
    set(number ${CMAKE_MATCH_7})
    set(name "${CMAKE_MATCH_8}")
    if(section MATCHES "^(\\*.*|\\.tbss|\\.tdata)$")  # versions, and what each thread has
      continue()
    endif()
    if(family STREQUAL GLIBC AND number VERSION_GREATER TUTTI_GLIBC)
      if(number VERSION_EQUAL 2.34 AND NOT name MATCHES "${moved_with_us}")
        set(moved_${name} TRUE)
      endif()
      continue()
    endif()
    if(NOT DEFINED number_${name})
      list(APPEND names "${name}")
    elseif(number VERSION_LESS number_${name})
      continue()
    endif()
    set(number_${name} ${number})
    set(node_${name} ${family}_${number})
    set(place_${name} code)
    set(binding_${name} .globl)
    if(weak STREQUAL w)
      set(binding_${name} .weak)
    endif()
    if(kind STREQUAL O)
      set(place_${name} data_${address})
      set(size_${name} ${bytes})
    endif()
  endforeach()
  set(nodes "")
  set(places code)
  foreach(name IN LISTS names)
    if(moved_${name})
      continue()
    endif()
    list(APPEND nodes ${node_${name}})
    string(APPEND of_${node_${name}} " \"${name}\";")
    # Data under several names stays one object, and its weak names stay weak: where a program holds
    # a copy of `environ`, the linker sees by that that it has __environ, too.
    set(place ${place_${name}})
    list(APPEND places ${place})
    if(place STREQUAL code)
      string(APPEND at_code ".globl ${name}\n.type ${name},%function\n${name}:\n")
    else()
      string(APPEND at_${place} "${binding_${name}} ${name}\n.type ${name},%object\n"
                                ".size ${name},${size_${name}}\n${name}:\n")
      set(bytes_${place} ${size_${name}})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES nodes)
  list(REMOVE_DUPLICATES places)
  set(text ".text\n${at_code}.data\n")
  list(REMOVE_ITEM places code)
  foreach(place IN LISTS places)
    string(APPEND text ".balign 32\n${at_${place}}.zero ${bytes_${place}}\n")
  endforeach()
  file(WRITE ${source} "${text}")
  set(text "")
  foreach(node IN LISTS nodes)
    string(APPEND text "${node} {${of_${node}} };\n")
  endforeach()
  file(WRITE ${script} "${text}")
endfunction()

# Sets `outcome` to whether there are stand-ins, made now if need be.
function(make_stand_ins outcome)
  set(${outcome} FALSE PARENT_SCOPE)
  if(TUTTI_SANITIZE OR NOT CMAKE_OBJDUMP)
    return()
  endif()
  find_c_library(libc.so linker_script)
  foreach(file libc.so.6 libm.so.6 libpthread.so.0 libdl.so.2)
    find_c_library(${file} library)
    if(NOT library OR NOT linker_script)
      return()
    endif()
    string(REGEX REPLACE "\\..*" "" base ${file})
    set(stand_in ${stand_ins}/${base}.so)
    if(file STREQUAL libc.so.6)
      set(stand_in ${stand_ins}/${file})
      # The compiler's -lc is a linker script that names more than the shared library.
      file(READ ${linker_script} text)
      string(REGEX REPLACE "[^ ]*/libc\\.so\\.6" ${stand_in} text "${text}")
      file(CONFIGURE OUTPUT ${stand_ins}/libc.so CONTENT "${text}" @ONLY)
    endif()
    if(EXISTS ${stand_in} AND ${stand_in} IS_NEWER_THAN ${library}
       AND ${stand_in} IS_NEWER_THAN ${CMAKE_CURRENT_FUNCTION_LIST_FILE})
      continue()
    endif()
    describe_stand_in(${library} ${stand_ins}/${base}.s ${stand_ins}/${base}.map)
    execute_process(
      COMMAND ${CMAKE_C_COMPILER} -shared -nostdlib -Wl,-soname,${file}
              -Wl,--version-script=${stand_ins}/${base}.map ${stand_ins}/${base}.s -o ${stand_in}
      COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  set(${outcome} TRUE PARENT_SCOPE)
endfunction()

make_stand_ins(TUTTI_HAS_STAND_INS)
if(NOT TUTTI_HAS_STAND_INS AND NOT TUTTI_SANITIZE)
  message(NOTICE "tutti: this is no glibc, or objdump is missing: what is built loads only where the "
                 "C library is no older than this machine's")
endif()
include(CheckLinkerFlag)
check_linker_flag(C -Wl,-z,nopack-relative-relocs TUTTI_LINKER_PACKS)

# Links a target to nothing but the C library, at versions up to TUTTI_GLIBC.
function(tutti_for_old_glibc target)
  if(TUTTI_SANITIZE)  # whose runtime is another library
    return()
  endif()
  target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc)
  if(NOT TUTTI_HAS_STAND_INS)
    return()
  endif()
  target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/old_glibc.c)
  # Static libraries bring functions that nobody calls, and these want symbols: std::random_device.
  target_link_options(${target} PRIVATE LINKER:--gc-sections)
  # No target_link_directories(), which would also be where the result looks for its libraries.
  target_link_options(${target} PRIVATE -L${stand_ins} LINKER:--push-state,--no-as-needed ${stand_ins}/libpthread.so
                      ${stand_ins}/libdl.so LINKER:--pop-state)
  if(TUTTI_LINKER_PACKS)  # relative relocations so packed want glibc 2.36
    target_link_options(${target} PRIVATE LINKER:-z,nopack-relative-relocs)
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)
    target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/old_glibc_start.c)
    target_link_options(${target} PRIVATE LINKER:--wrap=__libc_start_main)
  endif()
endfunction()
