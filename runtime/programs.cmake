# xrun and the plugins: what needs other libraries.

# Files of tensors, for programs: libxrt has no part of it.
file(GLOB IO_SRC CONFIGURE_DEPENDS io/*.c)
list(REMOVE_ITEM IO_SRC ${CMAKE_CURRENT_SOURCE_DIR}/io/sign.c)
add_library(runtime_io STATIC ${IO_SRC})
target_link_libraries(runtime_io PUBLIC runtime PkgConfig::ZLIB)

# Signatures, for xcc and xrun alone.
add_library(runtime_sign STATIC io/sign.c)
target_link_libraries(runtime_sign PUBLIC neff_write)
option(XCC_HOGWEED "sign archives with libhogweed" ${HOGWEED_FOUND})
if(XCC_HOGWEED)
  target_compile_definitions(runtime_sign PRIVATE XCC_HOGWEED=1)
  target_link_libraries(runtime_sign PUBLIC PkgConfig::HOGWEED)
endif()

add_executable(xrun xrun.c)
target_link_libraries(xrun runtime_io runtime_sign)
install(TARGETS xrun DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT libxrt)

# Plugins: what operators need of other libraries, each in a shared object that is loaded when a model asks for it.
add_library(plugin_base OBJECT plugins/picture.c ${CMAKE_SOURCE_DIR}/neff/base/diag.c)
add_custom_target(plugins ALL)
function(plugin name library package)
  pkg_check_modules(${library} IMPORTED_TARGET GLOBAL ${package})
  option(XCC_${library} "build the plugin that uses ${package}" ${${library}_FOUND})
  if(XCC_${library})
    add_library(plugin_${name} MODULE plugins/${name}.c $<TARGET_OBJECTS:plugin_base>)
    target_link_libraries(plugin_${name} PRIVATE PkgConfig::${library})
    set_target_properties(plugin_${name} PROPERTIES OUTPUT_NAME xrt_${name})
    add_dependencies(plugins plugin_${name})
    install(TARGETS plugin_${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libxrt)
  endif()
endfunction()
plugin(unicode UTF8PROC libutf8proc) # StringNormalizer
plugin(regex PCRE2 libpcre2-8)       # RegexFullMatch
plugin(regex_find PCRE2 libpcre2-8)  # Tokenizer
plugin(jpeg JPEG libjpeg)            # ImageDecoder
plugin(png PNG libpng)
plugin(webp WEBP libwebp)
plugin(tiff TIFF libtiff-4)
plugin(jpeg2000 OPENJPEG libopenjp2)
