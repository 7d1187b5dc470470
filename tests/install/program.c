/* program.c - a program outside the tree, in C: prints the version of the weir it runs with. */
#include <stdio.h>
#include <weir/weir.h>

int main(void)
{
        puts(weir_version());
        return 0;
}
