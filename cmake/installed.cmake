# SPDX-License-Identifier: BSD-3-Clause
# The list of what was installed, for uninstall.cmake: paths from the prefix, folders with a slash at
# the end. Read before all else is installed, to tell the folders that were there already.
set(installed_list ${CMAKE_INSTALL_DATADIR}/tutti/installed)

# The folders of what is installed, up to the prefix itself.
set(installed_folders /)
foreach(folder ${CMAKE_INSTALL_BINDIR} ${CMAKE_INSTALL_INCLUDEDIR}/tutti ${CMAKE_INSTALL_DATADIR}/tutti
        ${CMAKE_INSTALL_LIBDIR}/cmake/tutti ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  while(folder)
    list(APPEND installed_folders ${folder}/)
    cmake_path(GET folder PARENT_PATH folder)
  endwhile()
endforeach()
list(REMOVE_DUPLICATES installed_folders)

install(CODE "
  set(installed_list \"${installed_list}\")
  set(installed \"\")
  set(place \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
  if(EXISTS \"\${place}/\${installed_list}\")  # also what an earlier version had
    file(STRINGS \"\${place}/\${installed_list}\" installed)
  endif()
  foreach(folder ${installed_folders})
    if(NOT EXISTS \"\${place}/\${folder}\")
      list(APPEND installed \"\${folder}\")
    endif()
  endforeach()")

# To be called behind the last install().
function(tutti_list_installed)
  install(CODE "
    foreach(file IN LISTS CMAKE_INSTALL_MANIFEST_FILES)
      cmake_path(RELATIVE_PATH file BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\")
      list(APPEND installed \"\${file}\")
    endforeach()
    list(APPEND installed \"\${installed_list}\")
    list(REMOVE_DUPLICATES installed)
    list(JOIN installed \"\\n\" text)
    file(WRITE \"\${place}/\${installed_list}\" \"\${text}\\n\")")
endfunction()
