/* notify.c - telling the service manager how far a server is, and that it lives. */
#include "notify.h"
#include "systemd.h"

void weir__notify_ready(struct weir__notify *notify, uint64_t now_ns)
{
        if (!notify->on)
                return;
        notify->every_ns = weir__systemd_watchdog_us() * 1000 / 2;
        notify->due_ns = now_ns;
        weir__systemd_tell("READY=1");
}

bool weir__notify_is_due(const struct weir__notify *notify, uint64_t now_ns)
{
        return notify->every_ns && now_ns >= notify->due_ns;
}

void weir__notify_alive(struct weir__notify *notify, uint64_t lag_ns, uint64_t now_ns)
{
        notify->due_ns = now_ns + notify->every_ns;
        if (lag_ns < notify->every_ns)
                weir__systemd_tell("WATCHDOG=1");
}

int weir__notify_wait_ms(const struct weir__notify *notify, uint64_t now_ns)
{
        if (!notify->every_ns)
                return -1;
        if (now_ns >= notify->due_ns)
                return 0;
        if (notify->due_ns - now_ns > 3600000000000)
                return 3600000;
        return (int)((notify->due_ns - now_ns) / 1000000) + 1;
}

void weir__notify_stopping(const struct weir__notify *notify)
{
        if (notify->on)
                weir__systemd_tell("STOPPING=1");
}
