# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Debian systems in folders of build/systems/, for scripts/systems/run.sh. Each command runs in its own mount
# namespace, so that nothing stays mounted when it ends, however it ends, and removing a system's folder
# reaches nothing else.
#   shellcheck shell=bash

mirror=${TANDEM_DEBIAN_MIRROR:-http://deb.debian.org/debian}

refuse_mounts() { # FOLDER: fails if anything is mounted in it
    if grep -qF " $1/" /proc/self/mountinfo; then
        echo "systems: something is mounted in $1: unmount it first" >&2
        return 1
    fi
}

remove_folder() { # FOLDER
    [ -e "$1" ] || return 0
    refuse_mounts "$1" && rm -rf --one-file-system "$1"
}

# Makes the base system of a release with debootstrap, once, with apt and nothing else. Prints its path.
base_of() { # SUITE
    local base=$work/base-$1
    if [ ! -e "$base/complete" ]; then
        remove_folder "$base"
        local script=/usr/share/debootstrap/scripts/$1
        [ -e "$script" ] || script=/usr/share/debootstrap/scripts/sid # a release newer than the program
        debootstrap --variant=minbase "$1" "$base" "$mirror" "$script" >&2 || return 1
        echo "deb $mirror $1 main" >"$base/etc/apt/sources.list"
        # No service is started in there.
        printf '#!/bin/sh\nexit 101\n' >"$base/usr/sbin/policy-rc.d"
        chmod 755 "$base/usr/sbin/policy-rc.d"
        touch "$base/complete"
    fi
    echo "$base"
}

# Makes a separate system from the base. With "kept" one that is there already is taken as it is.
make_system() { # NAME SUITE [kept]
    local root=$work/$1 base
    [ "${3:-}" = kept ] && [ -e "$root/complete" ] && return 0
    remove_folder "$root" || return 1
    base=$(base_of "$2") || return 1
    cp -a --reflink=auto "$base" "$root"
    rm "$root/complete" # copied from the base; the caller creates it when its installation is complete
    # Names are found, and certificates believed, as on this machine.
    cp -L /etc/resolv.conf "$root/etc/resolv.conf"
    if [ -e /etc/ssl/certs/ca-certificates.crt ]; then
        mkdir -p "$root/etc/ssl"
        cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/of-the-host.crt"
    fi
}

# Runs a command in a system, with separate processes and mounts, as root, in /opt; isolated=--net: without a network.
within() { # NAME COMMAND...
    local root=$work/$1
    shift
    mkdir -p "$work/packages"
    unshare --mount --pid --fork --kill-child ${isolated:-} -- bash -c '
        set -e
        root=$1 packages=$2
        shift 2
        mount -t proc proc "$root/proc"
        mount --rbind /sys "$root/sys"
        mount --rbind /dev "$root/dev"
        mount --bind "$packages" "$root/var/cache/apt/archives"
        exec chroot "$root" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
            HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
            PIP_CERT=/etc/ssl/of-the-host.crt "$@"' \
        within "$root" "$work/packages" sh -c 'cd /opt && exec "$@"' sh "$@"
}

# Installs packages in a system.
install_in() { # NAME PACKAGE...
    local name=$1
    shift
    within "$name" apt-get update -qq &&
        within "$name" apt-get install -y -qq --no-install-recommends "$@"
}

# A fresh clone of the last commit as /opt/tandem.
clone_into() { # NAME
    local to=$work/$1/opt/tandem
    remove_folder "$to" && git clone -q --no-hardlinks "$source" "$to"
}

release_of() { # NAME: Debian's version in words
    # shellcheck source=/dev/null
    (. "$work/$1/etc/os-release" && echo "Debian $(cat "$work/$1/etc/debian_version")")
}

version_of() { # NAME PACKAGE: of an installed package, without Debian's own part
    within "$1" dpkg-query -W -f '${Version}' "$2" | sed -e 's/^[0-9]*://' -e 's/[-+~].*//'
}
