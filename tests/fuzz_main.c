/* fuzz_main.c - runs the files and folders it is given through a fuzz target, once each. */
#include "fuzz_kit.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

static void fail(const char *path)
{
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(1);
}

/* The buffer has exactly the size of the file, so that the sanitizer sees a read past its end. */
static size_t run_file(const char *path, size_t size)
{
        FILE *file = fopen(path, "rb");
        uint8_t *data = malloc(size ? size : 1);

        if (!file || !data || fread(data, 1, size, file) != size)
                fail(path);
        fclose(file);
        LLVMFuzzerTestOneInput(data, size);
        free(data);
        return 1;
}

static size_t run(const char *path)
{
        struct stat st;
        size_t n = 0;
        char child[4096];

        if (stat(path, &st) < 0)
                fail(path);
        if (!S_ISDIR(st.st_mode))
                return run_file(path, (size_t)st.st_size);

        DIR *dir = opendir(path);
        if (!dir)
                fail(path);
        for (struct dirent *entry; (entry = readdir(dir));) {
                if (entry->d_name[0] == '.')
                        continue;
                snprintf(child, sizeof(child), "%s/%s", path, entry->d_name);
                n += run(child);
        }
        closedir(dir);
        return n;
}

int main(int argc, char **argv)
{
        size_t n = 0;

        for (int i = 1; i < argc; i++)
                n += run(argv[i]);
        printf("%zu inputs\n", n);
        return n == 0;
}
