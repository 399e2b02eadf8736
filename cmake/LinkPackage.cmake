# SPDX-License-Identifier: MIT
# Run by each build: makes the links in PACKAGE those of SOURCE's entries, so a file that was added is there and one
# that was removed is gone. Modules that were built into PACKAGE are no links and stay.
file(MAKE_DIRECTORY "${PACKAGE}")
file(GLOB links "${PACKAGE}/*")
foreach(link IN LISTS links)
  get_filename_component(name "${link}" NAME)
  if(IS_SYMLINK "${link}" AND NOT EXISTS "${SOURCE}/${name}")
    file(REMOVE "${link}")
  endif()
endforeach()
file(GLOB entries "${SOURCE}/*")
foreach(entry IN LISTS entries)
  get_filename_component(name "${entry}" NAME)
  if(NOT name STREQUAL "__pycache__" AND NOT name MATCHES "[.]so$")
    file(CREATE_LINK "${entry}" "${PACKAGE}/${name}" SYMBOLIC)
  endif()
endforeach()
