# What cpack makes: libxrt, libxrt-dev and xcc for Debian. Needs dpkg-dev and file, for the libraries' packages.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME xcc)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "xcc maintainers <xcc@localhost>" CACHE STRING "Maintainer of the Debian packages")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL libxrt libxrt-dev xcc)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP) # and there are no groups

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# libxcc_pjrt.so uses libxrt.so, which lies in another package: its place here, and its package below.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/runtime ${CMAKE_BINARY_DIR}/frontend)

function(package name section depends recommends description)
  string(TOUPPER ${name} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${depends}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_RECOMMENDS "${recommends}" PARENT_SCOPE)
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${description}" PARENT_SCOPE)
endfunction()
set(same "libxrt (= ${PROJECT_VERSION})")
# Recommended: libraries that are loaded when a model or a file needs them.
package(libxrt libs "" "liblapacke, libopenblas0-serial" "runtime for compiled machine learning models
 The library libxrt, its plugins, and xrun, which runs a model from the command line.")
package(libxrt-dev libdevel "${same}" "" "development files of libxrt
 Headers, the static library, and files for pkg-config and CMake.")
package(xcc devel "${same}" "libarchive13, liblapacke, libopenblas0-serial" "ahead-of-time compiler for machine learning models
 xcc compiles ONNX, StableHLO and HLO programs; xdump prints archives, xsim times them; libxcc is the compiler as a library.")
include(CPack)
