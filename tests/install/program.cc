/* program.cc - a program outside the tree, in C++: prints the version of the weir it runs with. */
#include <cstdio>
#include <weir/weir.h>

int main()
{
        std::puts(weir_version());
        return 0;
}
