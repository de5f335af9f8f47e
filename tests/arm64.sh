#!/usr/bin/env bash
# The kernels on arm64: built by a cross compiler from the same CMakeLists.txt, and tested under QEMU with arm64's own Python
# and NumPy. `make arm64`; for root on Debian 12, whose libraries the emulated programs use too; about 20 minutes. Everything
# but three packages stays in build/arm64.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
work=$here/build/arm64
root=$work/root
bin=$here/.venv/bin
python=python3.11

apt-get install --yes --no-install-recommends debootstrap g++-aarch64-linux-gnu qemu-user-static >/dev/null

if [ ! -e "$root/usr/bin/$python" ]; then
  echo "Unpacking arm64's Python..."
  packages=$python,lib$python-dev,libstdc++6,libffi8,libssl3,libsqlite3-0,zlib1g,tzdata
  debootstrap --foreign --variant=minbase --arch=arm64 --include="$packages" bookworm "$root" >/dev/null
  for package in "$root"/var/cache/apt/archives/*.deb; do dpkg-deb --extract "$package" "$root"; done
fi

if [ ! -d "$work/site" ]; then
  echo "Installing NumPy, PyArrow and pytest for arm64..."
  "$bin/pip" --disable-pip-version-check --quiet install --target "$work/site" --constraint "$here/constraints.txt" \
    --python-version 3.11 --only-binary :all: --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 \
    --platform manylinux_2_24_aarch64 --platform manylinux_2_17_aarch64 --platform manylinux2014_aarch64 \
    numpy pyarrow rich typer pytest hypothesis ml_dtypes mpmath pandas polars
fi

echo "Building the kernels for arm64..."
"$bin/cmake" -G Ninja -S "$here" -B "$work/kernels" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ \
  -DCMAKE_CXX_FLAGS="-idirafter $root/usr/include" -DCMAKE_MAKE_PROGRAM="$bin/ninja" \
  -DPython_EXECUTABLE="$bin/python" -DPython_INCLUDE_DIR="$root/usr/include/$python" \
  -Dnanobind_DIR="$("$bin/python" -m nanobind --cmake_dir)" >/dev/null
"$bin/cmake" --build "$work/kernels" >/dev/null

cd "$here"
PYTHONPATH=$work/site:$here/src:$here qemu-aarch64-static -L "$root" "$root/usr/bin/$python" -B -m tests.with_kernels \
  "$work/kernels" --quiet -p no:cacheprovider -o addopts= tests/kernels tests/tables/test_cells.py \
  --ignore tests/kernels/test_interrupts.py "$@"
