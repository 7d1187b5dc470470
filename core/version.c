/* version.c - which weir this is. */
#include "config.h"

#include <weir/weir.h>

const char *weir_version(void)
{
        return PACKAGE_VERSION;
}
