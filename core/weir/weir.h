/* weir.h - an HTTP middleware framework: routes, chains of middleware, and one context. */
#ifndef WEIR_WEIR_H
#define WEIR_WEIR_H

#include <weir/answer.h>
#include <weir/app.h>
#include <weir/ctx.h>
#include <weir/machine.h>
#include <weir/str.h>
#include <weir/wait.h>

#endif
