// [windows_h] The library's headers compile after <windows.h>: its macros, as far as a header could meet them, are imitated.
// Headers of others come first, since they are not ours to protect.
#include <bits/stdc++.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <Eigen/Core>
#include <nlohmann/json.hpp>
#define PCRE2_CODE_UNIT_WIDTH 16  // whatever a user chose
#include <pcre2.h>
#include <utf8proc.h>

#if defined(_OPENMP)
#include <omp.h>
#endif

#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))
#define near
#define far
#define small char
#define interface struct
#define pascal
#define cdecl
#define IN
#define OUT
#define OPTIONAL
#define CONST const
#define VOID void
#define TRUE 1
#define FALSE 0
#define ERROR 0
#define NO_ERROR 0L
#define DELETE 0x00010000L
#define STRICT 1
#define DOMAIN 1
#define OVERFLOW 3
#define UNDERFLOW 4
#define IGNORE 0
#define INFINITE 0xFFFFFFFF
#define CALLBACK
#define CreateFile CreateFileW
#define DeleteFile DeleteFileW
#define GetObject GetObjectW
#define GetMessage GetMessageW
#define SendMessage SendMessageW
#define LoadImage LoadImageW
#define Yield()

#include "all_headers.hpp"
