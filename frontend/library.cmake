# libxcc: neff, runtime, passes, tile, backend and frontend in one library. Their own functions are hidden, so that no name of
# theirs meets one of the program that links it, libxrt's included.
include(CMakePackageConfigHelpers)
add_library(libxcc SHARED $<TARGET_OBJECTS:neff> $<TARGET_OBJECTS:neff_write> $<TARGET_OBJECTS:runtime>
            $<TARGET_OBJECTS:runtime_io> $<TARGET_OBJECTS:sim> ${KERNEL_OBJECTS} $<TARGET_OBJECTS:passes> $<TARGET_OBJECTS:tile>
            $<TARGET_OBJECTS:backend>
            $<TARGET_OBJECTS:frontend>)
target_link_libraries(libxcc PRIVATE ${XRT_LIBS} ${PROTOBUFC_LIBRARIES} ${NETTLE_LIBRARIES} ${ZLIB_LIBRARIES}
                      ${CMAKE_DL_LIBS})
# xrt.h's functions stay with libxrt.
set(names ${CMAKE_CURRENT_BINARY_DIR}/xcc.map)
file(WRITE ${names} "{ global: xcc_*; local: *; };\n")
target_link_options(libxcc PRIVATE LINKER:--version-script,${names})
set_target_properties(libxcc PROPERTIES OUTPUT_NAME xcc VERSION ${PROJECT_VERSION} SOVERSION 0 LINKER_LANGUAGE C
                      EXPORT_NAME xcc)
target_include_directories(libxcc INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS libxcc EXPORT xcc LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT xcc)
install(FILES xcc.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT xcc)

# For CMake: find_package(xcc), then xcc::xcc.
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/xcc)
install(EXPORT xcc NAMESPACE xcc:: FILE xcc-config.cmake DESTINATION ${package} COMPONENT xcc)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/xcc-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/xcc-config-version.cmake DESTINATION ${package} COMPONENT xcc)

# For pkg-config; relative to the file, so that the folder may be moved.
set(pc ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH XCC_PREFIX /${pc} /)
configure_file(xcc.pc.in ${CMAKE_CURRENT_BINARY_DIR}/xcc.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/xcc.pc DESTINATION ${pc} COMPONENT xcc)
