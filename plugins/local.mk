# plugins/local.mk - plugins: one shared object each (-module -avoid-version), in $(pkglibdir). None yet.
