# docs/local.mk - the pages that README links to.
EXTRA_DIST +=
