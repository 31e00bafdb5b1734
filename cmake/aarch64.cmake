# Another processor: Debian's cross compiler, and QEMU's user mode for what is built with it. Used by scripts/cross_aarch64,
# whose PENSTOCK_AARCH64_ROOT is the folder where it has unpacked Debian's libraries of that processor. The C and C++
# libraries are the compiler's own.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES PENSTOCK_AARCH64_ROOT)

set(libraries ${PENSTOCK_AARCH64_ROOT}/usr/lib/aarch64-linux-gnu ${PENSTOCK_AARCH64_ROOT}/lib/aarch64-linux-gnu)
list(JOIN libraries : library_path)
list(JOIN libraries " -L" library_folders)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH ${PENSTOCK_AARCH64_ROOT} /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} ${PENSTOCK_AARCH64_ROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${PENSTOCK_AARCH64_ROOT}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${PENSTOCK_AARCH64_ROOT})

# Some headers of Debian's differ by processor.
foreach(language C CXX)
  set(CMAKE_${language}_STANDARD_INCLUDE_DIRECTORIES ${PENSTOCK_AARCH64_ROOT}/usr/include/aarch64-linux-gnu)
endforeach()

# Libraries that our libraries need are found there, too: by the linker and at run time.
foreach(kind EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "-L${library_folders} -Wl,-rpath-link,${library_path}")
endforeach()
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH=${library_path})
# GCC looks for a linker that is named after the processor, and mold has no such name.
set(PENSTOCK_MOLD OFF)
