# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Finds the libraries of a machine with a GPU, and configures the preset gpu: for scripts/gpu-check.sh and
# scripts/gpu-pack.sh, which set `root` and `bundle`, and the first `commit`.
#   shellcheck shell=bash disable=SC2154

configure_gpu() { (cd "$root" && cmake --preset gpu -DTANDEM_TEST_PLAIN=ON -DTANDEM_MPI=OFF); }

# Prints the libraries that the bundle's files do not find on this machine; nothing if all is well.
missing_libraries() {
    # ldd prints the libraries that it cannot find for each file, or the version of glibc that it needs.
    find "$bundle"/lib "$bundle"/tools "$bundle"/tests -type f \( -name '*.so*' -o -perm -100 \) -print0 2>/dev/null |
        LD_LIBRARY_PATH=$bundle/lib xargs -0 ldd 2>&1 | grep -E 'not found|not a dynamic' |
        sed -e 's/.*: version/version/' -e 's/ (required by.*//' | sort -Vu || true
}

find_toolkit() { # the folder of the CUDA toolkit, or nothing
    local nvcc folder
    nvcc=$(command -v nvcc) && nvcc=$(dirname "$(dirname "$(readlink -f "$nvcc")")") || true
    for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" "$nvcc" /usr/local/cuda /usr/local/cuda-* /opt/cuda; do
        if [ -n "$folder" ] && [ -x "$folder/bin/nvcc" ]; then
            echo "$folder"
            break
        fi
    done
}

find_driver() { # the folder of NVIDIA's driver libraries, or nothing
    local folder folders path
    folders=$(ldconfig -p 2>/dev/null | sed -n 's|.*libcuda\.so\.1 .*64.* => \(.*\)/.*|\1|p')
    IFS=: read -ra path <<<"${LD_LIBRARY_PATH:-}"
    for folder in "${path[@]}" $folders /usr/local/nvidia/lib64 /usr/lib/x86_64-linux-gnu /usr/lib64 \
        /usr/lib/wsl/lib; do
        if [ -n "$folder" ] && [ -e "$folder/libcuda.so.1" ]; then
            echo "$folder"
            break
        fi
    done
}

# The folders of libraries for TANDEM_LIBRARY_PATH: the bundle's, the toolkit's or else those of Python's packages
# (PyTorch's), which have NCCL in any case, and the driver's.
find_libraries() { # TOOLKIT DRIVER
    local folder
    {
        [ ! -d "$bundle/lib" ] || echo "$bundle/lib"
        for folder in "$1"/lib64 "$1"/lib "$1"/targets/*-linux/lib; do
            if [ -n "$1" ] && compgen -G "$folder/libcublasLt.so.*" >/dev/null; then
                echo "$folder"
                break
            fi
        done
        python3 -c 'import glob, nvidia
for folder in nvidia.__path__:
    for lib in sorted(glob.glob(folder + "/*/lib")): print(lib)' 2>/dev/null || true
        [ -z "$2" ] || echo "$2"
    } | paste -sd:
}

# Registers the driver's OpenCL with the OpenCL loader, as containers often do not; prints which.
register_opencl() { # DRIVER FOLDER: FOLDER is for the file that this makes
    if [ -n "${OCL_ICD_VENDORS:-}" ] || [ -z "$1" ]; then
        echo "OpenCL drivers: those of ${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}"
    elif [ ! -e "$1/libnvidia-opencl.so.1" ]; then
        echo "OpenCL drivers: NVIDIA's has no libnvidia-opencl.so.1 in $1, so cuda alone is tested"
    else
        mkdir -p "$2"
        cp /etc/OpenCL/vendors/*.icd "$2/" 2>/dev/null || true
        { grep -lsi libnvidia-opencl "$2"/*.icd || true; } | xargs -r rm
        echo "$1/libnvidia-opencl.so.1" >"$2/nvidia.icd"
        export OCL_ICD_VENDORS=$2
        echo "OpenCL drivers: $1/libnvidia-opencl.so.1"
    fi
}

print_versions() { # TOOLKIT SANITIZER DRIVER
    echo "tandem: $commit"
    echo "kernel: $(uname -sr); glibc $(getconf GNU_LIBC_VERSION | cut -d' ' -f2); $(nproc) processors"
    echo "compiler: $(cc --version 2>/dev/null | head -n 1)"
    echo "CUDA toolkit: ${1:-none} $([ -z "$1" ] || "$1/bin/nvcc" --version 2>/dev/null | grep -o 'release.*')"
    echo "compute-sanitizer: ${2:-none} $([ -z "$2" ] || "$2" --version 2>/dev/null | grep -i version | head -n 1)"
    echo "driver's libraries: ${3:-none}"
    local fields=name,driver_version,memory.total,pci.bus_id,pstate,clocks.max.sm,clocks.max.mem
    fields+=,power.limit,compute_mode,mig.mode.current,persistence_mode
    timeout 20 nvidia-smi --query-gpu="$fields" --format=csv 2>/dev/null || echo "nvidia-smi: none"
}

describe_sources() {
    git -C "$root" describe --always --dirty --abbrev=40 2>/dev/null || echo 'unknown commit'
}
