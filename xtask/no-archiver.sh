#!/bin/sh
# Stands in for an archiver while `cargo xtask targets` compiles without linking: creates the empty file of `-out:FILE`.
for word in "$@"; do
  case $word in
    -out:*) : >"${word#-out:}" ;;
  esac
done
