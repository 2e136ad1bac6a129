# Installs the client library as a package: headers, static libraries, and the files of find_package(Penstock) and of
# pkg-config. Alone:
#   cmake --install BUILD --component penstock_client --prefix DIR
include(CMakePackageConfigHelpers)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Penstock")

set_target_properties(penstock_client PROPERTIES EXPORT_NAME client)
set(client_targets
  penstock_client penstock_trace penstock_trace_taker penstock_transport penstock_lanes penstock_grpc_transport
  penstock_shared_memory penstock_access penstock_certificates penstock_address penstock_front_door penstock_net penstock_coordinator_calls penstock_view_proto
  penstock_job_order penstock_plan penstock_mix penstock_mix_job penstock_row_coding penstock_batch penstock_base
  penstock_runtime penstock_wire_proto penstock_job_proto penstock_xxhash)
install(TARGETS ${client_targets}
        EXPORT PenstockTargets
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT penstock_client)
install(DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}/include/penstock" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        COMPONENT penstock_client FILES_MATCHING PATTERN "*.h")
install(EXPORT PenstockTargets NAMESPACE Penstock:: DESTINATION "${package_dir}" COMPONENT penstock_client)

configure_package_config_file("${CMAKE_CURRENT_SOURCE_DIR}/cmake/PenstockConfig.cmake.in"
  "${CMAKE_CURRENT_BINARY_DIR}/PenstockConfig.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/PenstockConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/PenstockConfig.cmake" "${CMAKE_CURRENT_BINARY_DIR}/PenstockConfigVersion.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/PenstockPkgConfig.cmake"
        DESTINATION "${package_dir}" COMPONENT penstock_client)

# The file of pkg-config. It lists the archives and Abseil's modules that the targets link.
set(pkg_config_archives "")
set(pkg_config_abseil "")
foreach(target IN LISTS client_targets)
  get_target_property(type ${target} TYPE)
  if(NOT type STREQUAL STATIC_LIBRARY)
    continue()
  endif()
  string(APPEND pkg_config_archives " -l${target}")
  get_target_property(linked ${target} LINK_LIBRARIES)
  list(FILTER linked INCLUDE REGEX "^absl::")
  list(APPEND pkg_config_abseil ${linked})
endforeach()
list(REMOVE_DUPLICATES pkg_config_abseil)
list(TRANSFORM pkg_config_abseil REPLACE "^absl::" "absl_")
list(JOIN pkg_config_abseil " " pkg_config_abseil)
file(RELATIVE_PATH pkg_config_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file("${CMAKE_CURRENT_SOURCE_DIR}/cmake/penstock.pc.in" "${CMAKE_CURRENT_BINARY_DIR}/penstock.pc" @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/penstock.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT penstock_client)
