/* fuzz_form.c - an urlencoded body, through a request; numbers in it against the C library. */
#include "fuzz_kit.h"
#include "number.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>

static const char *skip_digits(const char *at)
{
        while (isdigit((unsigned char)*at))
                at++;
        return at;
}

/* The end of an integer, or NULL. */
static const char *integer(const char *at)
{
        at += *at == '-';
        return isdigit((unsigned char)*at) ? skip_digits(at) : NULL;
}

/* The end of a decimal number, or NULL. */
static const char *decimal(const char *at)
{
        at = integer(at);
        if (at && *at == '.')
                at = isdigit((unsigned char)at[1]) ? skip_digits(at + 1) : NULL;
        if (at && (*at == 'e' || *at == 'E')) {
                at += at[1] == '-' || at[1] == '+' ? 2 : 1;
                at = isdigit((unsigned char)*at) ? skip_digits(at) : NULL;
        }
        return at;
}

static void check_numbers(const char *text, size_t len)
{
        struct weir_str view = { text, len };
        const char *end = integer(text);
        double real, wanted = strtod(text, NULL);
        long long number;
        int64_t n;

        errno = 0;
        number = strtoll(text, NULL, 10);
        require(weir__parse_int(view, &n) == (end == text + len && errno == 0));
        require(end != text + len || errno || n == number);
        end = decimal(text);
        require(weir__parse_double(view, &real) == (end == text + len && isfinite(wanted)));
        require(end != text + len || !isfinite(wanted) || real == wanted);
}

static void check_value(struct weir_str value)
{
        char *text = malloc(value.len + 1);

        if (value.len)
                memcpy(text, value.ptr, value.len);
        text[value.len] = 0;
        check_numbers(text, value.len);
        free(text);
}

static enum weir_flow read_form(struct weir_ctx *ctx, void *self)
{
        struct weir_str name, value;
        enum weir_field got;
        size_t cursor = 0;
        int64_t n = -1;

        (void)self;
        while ((got = weir_form_next(ctx, &cursor, &name, &value)) != WEIR_FIELD_ABSENT) {
                require(cursor <= ctx->body.len);
                require(got == WEIR_FIELD_OK || !value.ptr);
                if (got == WEIR_FIELD_OK)
                        check_value(value);
        }
        got = weir_form_int(ctx, "n", 0, 100, &n);
        require(got == WEIR_FIELD_OK ? n >= 0 && n <= 100 : n == -1);
        return weir_status(ctx, 204);
}

static struct weir *make_app(void)
{
        struct weir *app = weir_new(NULL);

        weir_post(app, "/", read_form, NULL);
        return app;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct weir *app;
        struct weir_reply *reply;

        if (!app)
                app = make_app();
        reply = post(app, "application/x-www-form-urlencoded", data, size);
        require(reply->status == 204);
        weir_reply_free(reply);
        return 0;
}
