#!/bin/sh
# Brings in what the build and the tests need on a fresh Debian 12 machine that has Rust.
# Does nothing that is already done. Needs root or sudo only when a package is missing.
set -eu

# gcc: linker    g++: the fuzzing library    clang: the second compiler of the headers
# clang-22, lld-22: the device code    llvm-22: its listings
# libamdhip64-5: a real HIP runtime, 80 MB, to be opened without a GPU
# xz-utils, ffmpeg: the real test clips
# make, qemu-system-x86: a module for the kernel tests, and the machine that they run in
# locales: a comma locale for the tests    qemu-user: processors without AVX-512 and AVX2
packages="gcc g++ clang clang-22 lld-22 llvm-22 libc6-dev libamdhip64-5 git xz-utils ffmpeg locales qemu-user make qemu-system-x86"
missing=""
for package in $packages; do
    dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' ||
        missing="$missing $package"
done
as_root=""
if [ "$(id -u)" -ne 0 ]; then
    as_root="sudo"
fi
if [ -n "$missing" ]; then
    $as_root apt-get update -q
    # shellcheck disable=SC2086 # a list of words
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing
fi
if ! locale -a 2>/dev/null | grep -qi '^de_DE\.utf-\?8$'; then
    $as_root localedef -i de_DE -f UTF-8 de_DE.UTF-8
fi

command -v cargo >/dev/null || {
    echo "setup: cargo is not on the PATH; install Rust 1.89 or newer from your distribution or rustup" >&2
    exit 1
}
