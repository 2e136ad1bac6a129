# The libraries Penstock builds on, each as an imported target. Target: Debian 12's packages; newer ones work too.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)

# gRPC's and protobuf's own CMake files differ between distributions; pkg-config files do not.
pkg_check_modules(GRPCPP REQUIRED IMPORTED_TARGET grpc++)
pkg_check_modules(PROTOBUF REQUIRED IMPORTED_TARGET protobuf)
find_program(PROTOC protoc REQUIRED)
find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)
find_package(absl REQUIRED)

# XXH64: the stable hash of plans and fingerprints; header-only use, nothing to link.
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
add_library(penstock_xxhash INTERFACE)
target_include_directories(penstock_xxhash SYSTEM INTERFACE "${XXHASH_INCLUDE_DIR}")
target_compile_definitions(penstock_xxhash INTERFACE XXH_INLINE_ALL)

if(PENSTOCK_BUILD_SERVER)
  find_package(OpenSSL REQUIRED)
  find_package(ZLIB REQUIRED)
  find_package(spdlog REQUIRED)
  find_package(SQLite3 REQUIRED)
  pkg_check_modules(LIBISAL REQUIRED IMPORTED_TARGET libisal)
  pkg_check_modules(LIBJPEG REQUIRED IMPORTED_TARGET libjpeg)
  pkg_check_modules(LIBWEBP REQUIRED IMPORTED_TARGET libwebp)
  pkg_check_modules(SPNG REQUIRED IMPORTED_TARGET spng)
  pkg_check_modules(HWY REQUIRED IMPORTED_TARGET libhwy)

  # OpenCV has no package config when only core and imgproc are installed.
  add_library(penstock_opencv INTERFACE)
  find_path(OPENCV_INCLUDE_DIR opencv2/core.hpp PATH_SUFFIXES opencv4 REQUIRED)
  target_include_directories(penstock_opencv SYSTEM INTERFACE "${OPENCV_INCLUDE_DIR}")
  foreach(module core imgproc)
    find_library(OPENCV_${module}_LIBRARY opencv_${module} REQUIRED)
    target_link_libraries(penstock_opencv INTERFACE "${OPENCV_${module}_LIBRARY}")
  endforeach()
endif()

if(PENSTOCK_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
