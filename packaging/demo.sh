#!/bin/sh
# One sweep from nothing: installs the packages, builds, runs a small sweep on this machine and compares the results.
set -eu
cd "$(dirname "$0")/.."

sh packaging/install-packages.sh build data
echo "building (build/release; a second run rebuilds nothing) ..."
mkdir -p build
gpus=''
[ -e /dev/nvidiactl ] || [ -e /dev/dxg ] || gpus=--without-gpus # dxg: of Windows' Linux
sh packaging/build.sh ${gpus:+"$gpus"} --target programs >build/build.log 2>&1 || {
  tail -n 30 build/build.log >&2
  echo "the build failed; the whole log: build/build.log" >&2
  exit 1
}

PATH=$PWD/build/release/bin:$PATH
export PATH
thalweg daemon start
status=0
thalweg run jobspec/examples/fashion-mnist.yaml --backend local || status=$?

cat <<END

The programs are in build/release/bin; put them on your PATH:
  export PATH=$PWD/build/release/bin:\$PATH
The controller keeps running for you; 'thalweg daemon stop' ends it.
END
[ ! -f build/release/without-gpus ] ||
  echo "This machine has no NVIDIA GPU, so no GPU code was compiled; 'sh packaging/build.sh' does, where CUDA and cuDNN are installed."
exit $status
