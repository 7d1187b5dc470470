#!/bin/sh
# autogen.sh - makes ./configure from configure.ac; needs autoconf, automake, libtool and pkg-config.
cd "$(dirname "$0")" && exec autoreconf -fi
