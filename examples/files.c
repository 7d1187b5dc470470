/* files.c - serves a folder: files [FOLDER [ADDRESS]] */
#include <weir/files.h>
#include <weir/weir.h>

int main(int argc, char **argv)
{
        struct weir *app = weir_new(&(struct weir_options){ .dev_log = true });

        weir_listen(app, argc > 2 ? argv[2] : "127.0.0.1:8080", NULL);
        weir_use_files(app, &(struct weir_files){ .root = argc > 1 ? argv[1] : "." });
        return weir_main(app);
}
