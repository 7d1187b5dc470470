/*
 * http_date.c - dates of header fields, out in one form and in from three (RFC 9110 5.6.7).
 *
 * Not strftime(), strptime() and gmtime_r(): the first two follow the locale, the last takes a lock
 * that the whole process shares.
 */
#include "http_date.h"

#include <stdio.h>

#define DAY   86400
#define FIRST (-62135596800) /* 0001-01-01 00:00:00 */
#define LAST  253402300799   /* 9999-12-31 23:59:59 */

static const char *const days[7] = { "Sunday",   "Monday", "Tuesday", "Wednesday",
                                     "Thursday", "Friday", "Saturday" };
static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

/*
 * The calendar, by the days since 0000-03-01: a year that begins in March has its leap day last.
 * 400 years have 146097 days; the months from March on begin at (153 * m + 2) / 5.
 */
static int64_t days_of(int64_t year, int month, int day)
{
        int64_t y = month <= 2 ? year - 1 : year;
        int64_t era = (y >= 0 ? y : y - 399) / 400, in_era = y - era * 400;
        int64_t in_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;

        return era * 146097 + in_era * 365 + in_era / 4 - in_era / 100 + in_year - 719468;
}

static void date_of(int64_t n, int *year, int *month, int *day)
{
        int64_t z = n + 719468, era = (z >= 0 ? z : z - 146096) / 146097, in_era = z - era * 146097;
        int64_t y = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
        int64_t in_year = in_era - (365 * y + y / 4 - y / 100), m = (5 * in_year + 2) / 153;

        *day = (int)(in_year - (153 * m + 2) / 5 + 1);
        *month = (int)(m < 10 ? m + 3 : m - 9);
        *year = (int)(y + era * 400 + (*month <= 2));
}

static int year_of(int64_t s)
{
        int year, month, day;

        date_of(s / DAY, &year, &month, &day);
        return year;
}

void weir__http_date(char out[WEIR__HTTP_DATE], int64_t s)
{
        int year, month, day, of_day;
        int64_t n;

        s = s < FIRST ? FIRST : s > LAST ? LAST : s;
        n = (s - FIRST) / DAY + FIRST / DAY;
        of_day = (int)((s - FIRST) % DAY);
        date_of(n, &year, &month, &day);
        snprintf(out, WEIR__HTTP_DATE, "%.3s, %02d %.3s %04d %02d:%02d:%02d GMT",
                 days[((n + 4) % 7 + 7) % 7], day, months + (month - 1) * 3, year, of_day / 3600,
                 of_day / 60 % 60, of_day % 60);
}

/* ---- Reading. ---- */

/* A date in parts, and what of the text is left. */
struct reading {
        struct weir_str left;
        int             year, month, day, hour, minute, second;
};

static bool read_literal(struct reading *r, const char *text, size_t len)
{
        if (r->left.len < len || memcmp(r->left.ptr, text, len) != 0)
                return false;
        r->left.ptr += len;
        r->left.len -= len;
        return true;
}

static bool read_digits(struct reading *r, int count, int *value)
{
        *value = 0;
        for (int i = 0; i < count; i++) {
                if (!r->left.len || *r->left.ptr < '0' || *r->left.ptr > '9')
                        return false;
                *value = *value * 10 + (*r->left.ptr - '0');
                r->left.ptr++;
                r->left.len--;
        }
        return true;
}

static bool read_weekday(struct reading *r, bool whole)
{
        for (int i = 0; i < 7; i++) {
                if (read_literal(r, days[i], whole ? strlen(days[i]) : 3))
                        return true;
        }
        return false;
}

static bool read_month(struct reading *r)
{
        for (r->month = 1; r->month <= 12; r->month++) {
                if (read_literal(r, months + (r->month - 1) * 3, 3))
                        return true;
        }
        return false;
}

/* One letter of a form: a small one is a part of the date, all others stand for themselves. */
static bool read_letter(struct reading *r, const char *letter)
{
        switch (*letter) {
        case 'w':
        case 'l':
                return read_weekday(r, *letter == 'l');
        case 'd':
                return read_digits(r, 2, &r->day);
        case 'e': /* the day, with a blank for a first 0 */
                return read_literal(r, " ", 1) ? read_digits(r, 1, &r->day)
                                               : read_digits(r, 2, &r->day);
        case 'n':
                return read_month(r);
        case 'y':
                return read_digits(r, 4, &r->year);
        case 'c':
                return read_digits(r, 2, &r->year);
        case 'h':
                return read_digits(r, 2, &r->hour);
        case 'm':
                return read_digits(r, 2, &r->minute);
        case 's':
                return read_digits(r, 2, &r->second);
        default:
                return read_literal(r, letter, 1);
        }
}

static bool read_form(struct reading *r, struct weir_str text, const char *form)
{
        *r = (struct reading){ .left = text };
        for (; *form; form++) {
                if (!read_letter(r, form))
                        return false;
        }
        return r->left.len == 0;
}

static bool is_date(const struct reading *r)
{
        int64_t first;
        int length;

        if (r->day < 1 || r->hour > 23 || r->minute > 59 || r->second > 60)
                return false;
        first = days_of(r->year, r->month, 1);
        length = (int)(days_of(r->month == 12 ? r->year + 1 : r->year, r->month % 12 + 1, 1) -
                       first);
        return r->day <= length;
}

bool weir__http_date_read(struct weir_str text, int64_t now_s, int64_t *s)
{
        struct reading r;

        if (read_form(&r, text, "l, d-n-c h:m:s GMT")) {
                int now = year_of(now_s);

                r.year += now / 100 * 100;
                if (r.year > now + 50) /* then it is the last one with these digits */
                        r.year -= 100;
        } else if (!read_form(&r, text, "w, d n y h:m:s GMT") &&
                   !read_form(&r, text, "w n e h:m:s y")) {
                return false;
        }
        if (!is_date(&r))
                return false;
        *s = days_of(r.year, r.month, r.day) * DAY + r.hour * 3600 + r.minute * 60 + r.second;
        return true;
}
