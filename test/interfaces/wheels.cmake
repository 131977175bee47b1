# SPDX-License-Identifier: Apache-2.0
# The wheels of ROS 2 name the folder of the Python headers of the machine that built them. CMake
# rejects a folder that does not exist; the headers of this Python are found without it.
function(drop_missing_folders)
  get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)
  foreach(target ${targets})
    get_target_property(folders ${target} INTERFACE_INCLUDE_DIRECTORIES)
    if(folders)
      list(FILTER folders EXCLUDE REGEX "^/opt/python/")
      set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${folders}")
    endif()
  endforeach()
endfunction()
cmake_language(DEFER CALL drop_missing_folders)
