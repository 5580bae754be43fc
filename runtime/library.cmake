# libxrt: neff and runtime in one library. Their own functions are hidden, so that no name of theirs
# meets one of the program that links it.
include(CMakePackageConfigHelpers)
set(objects $<TARGET_OBJECTS:neff> $<TARGET_OBJECTS:runtime> ${KERNEL_OBJECTS})

add_library(xrt SHARED ${objects})
target_link_libraries(xrt PRIVATE ${XRT_LIBS})
target_link_options(xrt PRIVATE LINKER:--exclude-libs,ALL LINKER:--gc-sections)
# Tables of functions and names are a tenth of a megabyte of relocations, or a few kilobytes of bits, which glibc reads since 2.36.
# A library that is for other machines too, the wheel's, keeps those that every glibc reads.
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_LINK_OPTIONS LINKER:-z,pack-relative-relocs LINKER:--fatal-warnings)
check_c_source_compiles("#include <features.h>
#if !defined __GLIBC__ || !__GLIBC_PREREQ(2, 36)
#error
#endif
int main(void) { return 0; }" XRT_PACKED_RELOCATIONS)
unset(CMAKE_REQUIRED_LINK_OPTIONS)
if(XRT_PACKED_RELOCATIONS AND NOT XCC_STATIC_DEPENDENCIES)
  target_link_options(xrt PRIVATE LINKER:-z,pack-relative-relocs)
endif()
set_target_properties(xrt PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 0 LINKER_LANGUAGE C)

# The static library is one object, its hidden names made local.
set(whole ${CMAKE_CURRENT_BINARY_DIR}/xrt.o)
file(STRINGS xrt.h roots REGEX "xrt_[a-z_]+\\(") # what xrt.h declares
string(REGEX MATCHALL "xrt_[a-z_]+\\(" roots "${roots}")
list(TRANSFORM roots REPLACE "(.*)\\(" "-u;\\1")
add_custom_command(
  OUTPUT ${whole}
  COMMAND ${CMAKE_LINKER} -r --gc-sections -e xrt_open ${roots} -o ${whole} ${objects}
  COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${whole}
  DEPENDS neff runtime ${objects}
  COMMAND_EXPAND_LISTS)
set_source_files_properties(${whole} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
add_library(xrt_static STATIC ${whole})
target_link_libraries(xrt_static INTERFACE ${XRT_LIBS})
set_target_properties(xrt_static PROPERTIES OUTPUT_NAME xrt LINKER_LANGUAGE C)

foreach(target xrt xrt_static)
  target_include_directories(${target} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()
install(TARGETS xrt xrt_static EXPORT xrt
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libxrt NAMELINK_COMPONENT libxrt-dev
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libxrt-dev)
install(FILES xrt.h xrt.hpp xop.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT libxrt-dev)
# Headers by AWS's names, for its custom C++ operators.
install(DIRECTORY custom/neuron DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/xcc COMPONENT libxrt-dev)

# For CMake: find_package(xrt), then xrt::xrt or xrt::xrt_static.
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/xrt)
install(EXPORT xrt NAMESPACE xrt:: FILE xrt-config.cmake DESTINATION ${package} COMPONENT libxrt-dev)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/xrt-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/xrt-config-version.cmake DESTINATION ${package} COMPONENT libxrt-dev)

# For pkg-config; relative to the file, so that the folder may be moved.
set(pc ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH XRT_PREFIX /${pc} /)
list(TRANSFORM XRT_LIBS PREPEND -l OUTPUT_VARIABLE XRT_LIBS_PRIVATE)
list(JOIN XRT_LIBS_PRIVATE " " XRT_LIBS_PRIVATE)
configure_file(xrt.pc.in ${CMAKE_CURRENT_BINARY_DIR}/xrt.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/xrt.pc DESTINATION ${pc} COMPONENT libxrt-dev)
