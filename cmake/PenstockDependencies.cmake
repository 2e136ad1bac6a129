# The libraries that Penstock uses, each as an imported target. Supports the packages of Debian 12 and newer ones.
find_package(Threads REQUIRED)
include(PenstockPkgConfig)

# CMake files of gRPC and protobuf differ between distributions; their pkg-config files do not.
penstock_pkg_config(GRPCPP grpc++)
penstock_pkg_config(PROTOBUF protobuf)
penstock_pkg_config(ZSTD libzstd)
find_program(PROTOC protoc REQUIRED)
find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)
find_package(absl REQUIRED)
find_package(OpenSSL REQUIRED)

# XXH64 is the stable hash of plans and fingerprints. It is used header-only, so there is nothing to link.
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
add_library(penstock_xxhash INTERFACE)
target_include_directories(penstock_xxhash SYSTEM INTERFACE "${XXHASH_INCLUDE_DIR}")
target_compile_definitions(penstock_xxhash INTERFACE XXH_INLINE_ALL)

if(PENSTOCK_BUILD_SERVER)
  find_package(ZLIB REQUIRED)
  find_package(nlohmann_json REQUIRED)
  find_package(prometheus-cpp REQUIRED)
  find_package(spdlog REQUIRED)
  find_package(SQLite3 REQUIRED)
  penstock_pkg_config(LIBCURL libcurl)
  penstock_pkg_config(LIBISAL libisal)
  penstock_pkg_config(LIBJPEG libjpeg)
  penstock_pkg_config(LIBWEBP libwebp)
  penstock_pkg_config(PUGIXML pugixml)
  penstock_pkg_config(RE2 re2)
  penstock_pkg_config(SIMDJSON simdjson)
  penstock_pkg_config(SPNG spng)
  penstock_pkg_config(HWY libhwy)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
    # The loops take the number of lanes as a constant, which SVE does not have. NEON has it.
    target_compile_definitions(PkgConfig::HWY INTERFACE "HWY_DISABLED_TARGETS=(HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128)")
  endif()

  # Boost.Asio and Boost.Beast: headers only.
  find_path(BOOST_INCLUDE_DIR boost/beast/http/parser.hpp REQUIRED)
  add_library(penstock_asio INTERFACE)
  target_include_directories(penstock_asio SYSTEM INTERFACE "${BOOST_INCLUDE_DIR}")
  target_link_libraries(penstock_asio INTERFACE Threads::Threads)
  if(PENSTOCK_SANITIZE MATCHES "thread")
    # ThreadSanitizer supports no fences. Asio's fences repeat what the lock of its queue orders.
    target_compile_definitions(penstock_asio INTERFACE BOOST_ASIO_DISABLE_FENCED_BLOCK)
  endif()

  # OpenCV has no package config if only core and imgproc are installed.
  add_library(penstock_opencv INTERFACE)
  find_path(OPENCV_INCLUDE_DIR opencv2/core.hpp PATH_SUFFIXES opencv4 REQUIRED)
  target_include_directories(penstock_opencv SYSTEM INTERFACE "${OPENCV_INCLUDE_DIR}")
  foreach(module core imgproc)
    find_library(OPENCV_${module}_LIBRARY opencv_${module} REQUIRED)
    target_link_libraries(penstock_opencv INTERFACE "${OPENCV_${module}_LIBRARY}")
  endforeach()
endif()

if(PENSTOCK_BUILD_TESTS AND PENSTOCK_BUILD_SERVER)  # the client alone has no tests
  find_package(GTest REQUIRED)
endif()
