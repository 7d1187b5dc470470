/* clock.c - the system's clocks, and dates as HTTP writes them. */
#include "clock.h"
#include "hint.h"

#include <string.h>
#include <time.h>

WEIR__NO_CANARY static uint64_t read_clock(clockid_t id)
{
        struct timespec ts;

        clock_gettime(id, &ts);
        return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

WEIR__NO_CANARY static uint64_t mono_ns(void *arg)
{
        (void)arg;
        return read_clock(CLOCK_MONOTONIC);
}

static uint64_t wall_ns(void *arg)
{
        (void)arg;
        return read_clock(CLOCK_REALTIME_COARSE);
}

const struct weir__clock weir__system_clock = { mono_ns, wall_ns, NULL };

static void two_digits(char *out, unsigned value)
{
        out[0] = (char)('0' + value / 10);
        out[1] = (char)('0' + value % 10);
}

/* Days since the epoch to a civil date; years are counted from March, so leap days come last. */
static void civil_from_days(uint64_t days, unsigned *year, unsigned *month, unsigned *day)
{
        uint64_t z = days + 719468;
        uint64_t era = z / 146097;
        unsigned of_era = (unsigned)(z % 146097);
        unsigned year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
        unsigned of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        unsigned from_march = (5 * of_year + 2) / 153;

        *day = of_year - (153 * from_march + 2) / 5 + 1;
        *month = from_march < 10 ? from_march + 2 : from_march - 10;
        *year = (unsigned)(era * 400) + year_of_era + (*month <= 1);
}

void weir__date_format(char out[WEIR__DATE_LEN], uint64_t wall_s)
{
        static const char weekdays[] = "ThuFriSatSunMonTueWed";
        static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
        uint64_t days = wall_s / 86400;
        unsigned of_day = (unsigned)(wall_s % 86400);
        unsigned year, month, day;

        civil_from_days(days, &year, &month, &day);
        memcpy(out, "Thu, 01 Jan 1970 00:00:00 GMT", WEIR__DATE_LEN);
        memcpy(out, weekdays + 3 * (days % 7), 3);
        two_digits(out + 5, day);
        memcpy(out + 8, months + 3 * (size_t)month, 3);
        two_digits(out + 12, year / 100 % 100);
        two_digits(out + 14, year % 100);
        two_digits(out + 17, of_day / 3600);
        two_digits(out + 20, of_day / 60 % 60);
        two_digits(out + 23, of_day % 60);
}
