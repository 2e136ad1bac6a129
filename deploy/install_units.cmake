# cmake --install runs this. It writes the units with the paths of the prefix, and their configuration.
#   source_dir, bin_dir, config_dir, doc_dir: set by CMakeLists.txt; the last three may be relative to CMAKE_INSTALL_PREFIX

cmake_minimum_required(VERSION 3.25)  # a script has no policies of its own

function(below_prefix out dir)
  if(NOT IS_ABSOLUTE "${dir}")
    set(dir "${CMAKE_INSTALL_PREFIX}/${dir}")
  endif()
  set(${out} "${dir}" PARENT_SCOPE)
endfunction()

below_prefix(full_bin "${bin_dir}")
below_prefix(full_doc "${doc_dir}")
# As in GNUInstallDirs: /etc belongs to /usr, /etc/opt/X to /opt/X.
if(NOT IS_ABSOLUTE "${config_dir}" AND CMAKE_INSTALL_PREFIX MATCHES "^/(usr/?)?$")
  set(full_config "/${config_dir}")
elseif(NOT IS_ABSOLUTE "${config_dir}" AND CMAKE_INSTALL_PREFIX MATCHES "^/opt/")
  set(full_config "/${config_dir}${CMAKE_INSTALL_PREFIX}")
else()
  below_prefix(full_config "${config_dir}")
endif()

foreach(role coordinator worker standalone)
  file(READ "${source_dir}/deploy/systemd/penstock-${role}.service" unit)
  string(REPLACE "/usr/bin/" "${full_bin}/" unit "${unit}")
  string(REPLACE "/etc/penstock/" "${full_config}/penstock/" unit "${unit}")
  string(REPLACE "/usr/share/doc/penstock/" "${full_doc}/" unit "${unit}")
  set(path "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/lib/systemd/system/penstock-${role}.service")
  message(STATUS "Installing: ${path}")
  file(WRITE "${path}" "${unit}")
  # Keeps an existing file, which an operator may have changed.
  if(NOT EXISTS "$ENV{DESTDIR}${full_config}/penstock/${role}.textproto")
    file(INSTALL DESTINATION "${full_config}/penstock" TYPE FILE
         FILES "${source_dir}/deploy/config/${role}.textproto")
  endif()
endforeach()
