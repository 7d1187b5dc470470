# examples/local.mk - the example programs: built with the library, not installed. They use only what it exports.
EXTRA_DIST +=
