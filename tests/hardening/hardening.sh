#!/bin/sh
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Looks in files of the build for the guards of the compiler and the linker.
#
#     hardening.sh READELF FORTIFIED FILE ...   (FORTIFIED: "" where the C library's checks are not enabled)
set -eu
readelf=$1 fortified=$2
shift 2
failed=0
wrong() { echo "$file: $*"; failed=1; }

for file; do
    headers=$("$readelf" -lW "$file")
    dynamic=$("$readelf" -dW "$file")
    symbols=$("$readelf" --dyn-syms -W "$file")
    case $headers in *GNU_RELRO*) ;; *) wrong "no RELRO" ;; esac
    case $dynamic in *BIND_NOW* | *" NOW"*) ;; *) wrong "functions are bound when first called" ;; esac
    case $headers in *GNU_STACK*) ;; *) wrong "does not say whether its stack is executable" ;; esac
    if echo "$headers" | grep -qE 'GNU_STACK.* (RWE|R E|WE) '; then wrong "an executable stack"; fi
    if echo "$headers" | grep -qE 'LOAD.* RWE '; then wrong "memory that is writable and executable"; fi
    case $dynamic in *TEXTREL*) wrong "code that is written to when it is loaded" ;; esac
    case $headers in *"type is DYN"*) ;; *) wrong "not at a random address" ;; esac
    case $symbols in *__stack_chk_fail*) ;; *) wrong "no stack protector" ;; esac
    if [ -n "$fortified" ]; then
        case $symbols in *_chk@*) ;; *) wrong "no checked copies" ;; esac
    fi
    # An entry that is empty or relative is the working directory, or below it.
    paths=$(echo "$dynamic" | sed -n 's/.*R[UN]*PATH.*\[\(.*\)\]/\1/p')
    case :$paths: in
    ::) ;;
    *::*) wrong "an empty entry in its search path '$paths'" ;;
    *)
        case :$paths in
        *:[!/\$]*) wrong "a relative entry in its search path '$paths'" ;;
        esac
        ;;
    esac
done
[ $failed -ne 0 ] || echo "hardening: $# files, all well"
exit $failed
