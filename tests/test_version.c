/* test_version.c - claims about weir_version(). */
#include "config.h"

#include <criterion/criterion.h>
#include <weir/weir.h>

Test(version, is_the_version_of_the_package)
{
        cr_assert_str_eq(weir_version(), PACKAGE_VERSION);
}
