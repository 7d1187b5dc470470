/* router_host.c - hosts of routes: reads them, and finds the tree for the host of a request. */
#include "router_host.h"

#include "bytes.h"
#include "router_pattern.h"
#include <errno.h>

/* ---- Reading. ---- */

static bool is_label_byte(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* Labels of 1 to 63 bytes with dots between them. */
static bool is_name(const char *text, size_t len)
{
        size_t label = 0;

        for (size_t i = 0; i < len; i++) {
                if (text[i] == '.' ? label == 0 : !is_label_byte(text[i]))
                        return false;
                label = text[i] == '.' ? 0 : label + 1;
                if (label > 63)
                        return false;
        }
        return label > 0;
}

/* "[", hexadecimal digits, ':' and '.', "]". */
static bool is_address(const char *text, size_t len)
{
        return len > 3 && text[0] == '[' && text[len - 1] == ']' &&
               strspn(text + 1, "0123456789abcdef:.") == len - 2;
}

static int refuse(struct weir__fault *fault, const char *text)
{
        char quoted[WEIR__QUOTED];
        const char *mend = "write a name such as \"api.example.org\", or \"*.example.org\" for "
                           "all hosts below it";

        weir__quoted(quoted, text);
        if (text[0] != '[' && strchr(text, ':'))
                mend = "leave out the scheme and the port";
        else if (strchr(text, '/'))
                mend = "a path belongs to the pattern";
        else if (text[0] == '\0')
                mend = "for every host write NULL";
        return weir__fault(fault, -EINVAL, "host %s is none that a request can name: %s", quoted,
                           mend);
}

int weir__host_parse(const char *text, char out[WEIR__HOST_SIZE], struct weir__fault *fault)
{
        size_t len = strlen(text);
        bool suffix = strncmp(text, "*.", 2) == 0;

        if (len > 1 && text[len - 1] == '.')
                len--;
        if (len >= WEIR__HOST_SIZE)
                return refuse(fault, text);
        for (size_t i = 0; i < len; i++)
                out[i] = weir__lower(text[i]);
        out[len] = '\0';
        if (suffix ? !is_name(out + 2, len - 2) : !is_name(out, len) && !is_address(out, len))
                return refuse(fault, text);
        return 0;
}

/* ---- Finding. ---- */

static uint32_t find_slot(const struct weir__router *router, uint32_t hash, const char *text,
                          size_t len)
{
        for (uint32_t at = hash;; at++) {
                const struct weir__host *slot = &router->host[at & router->host_mask];

                if (slot->len == 0)
                        return WEIR__NO_HOST;
                if (slot->len == len && memcmp(router->text + slot->text, text, len) == 0)
                        return at & router->host_mask;
        }
}

/*
 * From right to left, so that one hash runs over all suffixes. The last one found is the longest;
 * a suffix needs a byte before its dot.
 */
uint32_t weir__host_suffix(const struct weir__router *router, struct weir_str host)
{
        uint32_t hash = 0, found = WEIR__NO_HOST;

        for (size_t at = host.len; at-- > 1;) {
                hash = weir__host_hash(hash, host.ptr[at]);
                if (host.ptr[at] == '.') {
                        uint32_t slot = find_slot(router, hash, host.ptr + at, host.len - at);

                        found = slot == WEIR__NO_HOST ? found : slot;
                }
        }
        return found;
}

uint32_t weir__host_find(const struct weir__router *router, struct weir_str host)
{
        uint32_t hash = 0, slot;

        if (host.len == 0 || host.len >= WEIR__HOST_SIZE || host.ptr[0] == '.')
                return WEIR__NO_HOST;
        for (size_t at = host.len; at-- > 0;)
                hash = weir__host_hash(hash, host.ptr[at]);
        slot = find_slot(router, hash, host.ptr, host.len);
        return slot == WEIR__NO_HOST ? weir__host_suffix(router, host) : slot;
}
