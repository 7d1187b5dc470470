/* machine.h - what on this machine will bite an app once it is busy. */
#ifndef WEIR_MACHINE_H
#define WEIR_MACHINE_H

#include <weir/app.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Something that the machine gives less of than the options of the app ask for. */
struct weir_machine_finding {
        const char *name;       /* "open_files", as docs/machine.md lists them; a literal     */
        uint64_t    wants;      /* what the app wants, in the unit of the name...            */
        uint64_t    has;        /* ...and what there is                                      */
        char        text[256];  /* what will happen, in a sentence without a full stop       */
        char        mend[128];  /* what mends it: a command, or an option to set             */
        uint64_t    reserved[4];
};

/*
 * Compares the limits of the app with those of the machine: of this process, its control group and
 * the kernel. Fills the first `n` of `findings`, which may be NULL if n is 0, and returns how many
 * there are. weir_start() says them once, as warnings. What cannot be read is not found. Any
 * thread, once the app is set up. A NULL app has none.
 */
WEIR_API unsigned weir_check_machine(const struct weir *app, struct weir_machine_finding *findings,
                                     unsigned n);

#ifdef __cplusplus
}
#endif

#endif
