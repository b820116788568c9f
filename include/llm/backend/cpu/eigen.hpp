// The only include of Eigen. As a system header it is free of warnings for users who add Eigen's folder with plain -I.
#pragma once

#if defined(__GNUC__) || defined(__clang__)
#pragma GCC system_header
#endif

// g++ 12 warns falsely inside its own AVX-512 intrinsics (GCC bug 105593), which a system header does not silence.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <Eigen/Core>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
